/** The parts of a server's row that are words. Pure. */
import type { LiveRecord } from '../../records/judge.ts';
import type { Server } from '../../roll/schema.ts';
import type { Health } from '../../servers/kind.ts';
import type { OwnerSearch } from '../standing/owner.ts';

/** How it answers. */
export function healthWords(
  health: Health | null,
  record: LiveRecord | null,
  listens: boolean,
): Pick<Server, 'health' | 'healthDetail' | 'version'> {
  if (record !== null && record.record.state !== 'bound') {
    return { health: 'starting', healthDetail: 'it has been started and does not answer yet', version: null };
  }
  if (health === null) {
    const healthDetail = listens ? 'it listens on no loopback address' : 'it opens no port to ask at';
    return { health: 'unknown', healthDetail, version: null };
  }
  switch (health.state) {
    case 'ok':
      return { health: 'ok', healthDetail: null, version: health.version };
    case 'locked':
      return { health: 'locked', healthDetail: 'it asks for a password that Rollcall does not have', version: null };
    case 'unresponsive':
      return { health: 'unresponsive', healthDetail: health.why, version: null };
    case 'unknown':
      return { health: 'unknown', healthDetail: health.why, version: null };
  }
}

/** On whose behalf it runs, as the row shows it. */
export function ownerRow(search: OwnerSearch, record: LiveRecord | null, unit: string | null): Server['owner'] {
  if (record !== null) {
    const bound = record.record.owner;
    if (bound !== null)
      return { label: `Rollcall, for ${bound.label}`, pid: bound.ref.identity.pid, alive: true, endedAt: null };
    return { label: 'Rollcall', pid: null, alive: true, endedAt: null };
  }
  if (unit !== null) return { label: unit, pid: null, alive: true, endedAt: null };
  const { fact } = search;
  if (fact.state === 'alive') return { label: fact.label, pid: fact.pid, alive: true, endedAt: null };
  if (fact.state === 'unknown' || fact.label === null) return null;
  const endedAt = fact.endedAt === null ? null : new Date(fact.endedAt).toISOString();
  return { label: fact.label, pid: fact.pid, alive: false, endedAt };
}

/** Sum of what is known; null when nothing is. */
export function sumOrNull(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}
