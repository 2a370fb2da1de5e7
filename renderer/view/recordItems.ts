import type { RecordEntry, Roll } from '../../app/roll/schema.ts';
import { plural } from '../../app/roll/words.ts';

export interface RecordGroup {
  readonly type: 'group';
  readonly key: string;
  readonly title: string;
  readonly note: string;
  readonly figure: string;
}
export interface RecordItem {
  readonly type: 'record';
  readonly key: string;
  readonly record: RecordEntry;
}
export type RecordsItem = RecordGroup | RecordItem;

/** One record's key: the same path on two hosts is two records. */
export function recordKey(record: Pick<RecordEntry, 'host' | 'path'>): string {
  return `${record.host}:${record.path}`;
}

function matches(record: RecordEntry, filter: string): boolean {
  const all = [record.verdict, record.source, record.path, record.host, record.detail, String(record.pid ?? '')].join(
    ' ',
  );
  return filter
    .trim()
    .toLowerCase()
    .split(/\s+/u)
    .every((word) => all.toLowerCase().includes(word));
}

/** Stale records first, oldest last; then, under a head of their own, those that are kept. */
export function recordItems(roll: Roll, host: string | null, filter: string): readonly RecordsItem[] {
  const records = roll.records
    .filter((record) => (host === null || record.host === host) && (filter === '' || matches(record, filter)))
    .sort((a, b) => (b.writtenAt ?? '').localeCompare(a.writtenAt ?? '') || a.path.localeCompare(b.path));
  const item = (record: RecordEntry): RecordItem => ({ type: 'record', key: recordKey(record), record });
  const kept = records.filter((record) => !record.clearable);
  return [
    ...records.filter((record) => record.clearable).map(item),
    ...(kept.length === 0
      ? []
      : [
          {
            type: 'group' as const,
            key: 'kept',
            title: 'Kept',
            note: 'not Rollcall’s to move',
            figure: plural(kept.length, 'record'),
          },
        ]),
    ...kept.map(item),
  ];
}
