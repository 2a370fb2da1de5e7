import { matches } from '../../app/roll/matching.ts';
import type { RecordEntry, Roll } from '../../app/roll/schema.ts';
import { plural } from '../../app/text/words.ts';

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

function fits(record: RecordEntry, filter: string): boolean {
  const { verdict, source, path, host, detail, pid } = record;
  return matches([verdict, source, path, host, detail, String(pid ?? '')], filter);
}

/** Stale records first, oldest last; then, under a head of their own, those that are kept. */
export function recordItems(roll: Roll, host: string | null, filter: string): readonly RecordsItem[] {
  const records = roll.records
    .filter((record) => (host === null || record.host === host) && fits(record, filter))
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
