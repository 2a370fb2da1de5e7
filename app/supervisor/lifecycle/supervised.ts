/** Which servers of ours there are, however much of them is seen just now, and what a guard has to do for them. Pure. */
import type { RecordStore } from '../../records/store.ts';
import { rowName } from '../../text/words.ts';
import type { QuitReport, Supervised } from '../core.ts';
import type { Afterwards } from '../guard-port.ts';
import type { JudgedLook } from '../monitor/host-monitor.ts';
import type { ServerRegistry } from './server-registry.ts';

/**
 * Those with a row, those that are known although no record verifies them just now, and those that are only being
 * started.
 */
export function supervisedOf(sight: JudgedLook | null, lives: ServerRegistry, store: RecordStore): Supervised[] {
  if (sight === null) return [];
  const rows = sight.servers.flatMap(({ row, record }): Supervised[] =>
    record === null
      ? []
      : [{ record: record.record, path: record.path, busy: row.busy, label: rowName(row), id: row.id }],
  );
  const shown = new Set(rows.map(({ record }) => record.nonce));
  const starting = sight.records.pending.map((record) => ({
    record,
    path: store.pathOf(record.nonce),
    label: record.kind,
  }));
  const unshown = [...lives.running(), ...starting].flatMap(({ record, path, label }): Supervised[] => {
    if (shown.has(record.nonce)) return [];
    shown.add(record.nonce);
    return [{ record, path, busy: 'unknown', label, id: null }];
  });
  return [...rows, ...unshown];
}

/** What is left for a guard when this process has gone in order. */
export function afterwardsOf(
  report: QuitReport,
  stopServers: boolean,
  supervised: readonly Supervised[],
  hooksDue: boolean,
): Afterwards {
  if (stopServers && report.failed.length > 0) return 'end-servers';
  const left = supervised.filter(({ record }) => !stopServers || record.keepRunning);
  return hooksDue || left.some(({ record }) => record.owner !== null) ? 'watch-owners' : 'nothing';
}
