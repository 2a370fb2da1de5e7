/** What the person should know now, worst first. Pure. */
import type { Alert, Ended, HostEntry, Leftover, RecordEntry, Server } from '../roll/schema.ts';
import {
  capitalised,
  clockTime,
  formatBytes,
  leakedTotals,
  leakSentence,
  listed,
  plural,
  rowName,
  sentenceAge,
} from '../text/words.ts';

export interface AlertInput {
  readonly servers: readonly Server[];
  readonly leftovers: readonly Leftover[];
  readonly ended: readonly Ended[];
  readonly records: readonly RecordEntry[];
  readonly hosts: readonly HostEntry[];
  /** Faults of our own: a start that failed, a record folder that cannot be written. */
  readonly faults: readonly Alert[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

function leakAlert({ servers, leftovers }: AlertInput): Alert | null {
  const leaked = servers.filter(({ standing, reap }) => standing === 'leaked' && reap.allowed === 'yes');
  const left = leftovers.filter(({ reap }) => reap.allowed === 'yes');
  if (leaked.length + left.length === 0) return null;
  const owners = [...new Set(leaked.flatMap(({ owner }) => (owner === null ? [] : [owner.label])))];
  const whose = owners.length === 0 ? '' : ` (${listed(owners.slice(0, 3))})`;
  const detail =
    leaked.length === 0
      ? 'The servers that started them are gone.'
      : leaked.length === 1
        ? `Its owner is gone${whose}, no client is connected and it is not busy.`
        : `Their owners are gone${whose}, no client is connected and none is busy.`;
  return {
    id: 'leaked',
    level: 'leak',
    title: leakSentence(leakedTotals({ servers: [...servers], leftovers: [...leftovers] })),
    detail,
    act: 'reap-leaked',
    servers: leaked.map(({ id }) => id),
  };
}

/** A supervised server that does not answer: shown, never restarted silently (DESIGN rule 4.11). */
function unresponsive({ servers }: AlertInput): Alert[] {
  return servers
    .filter(({ standing, health }) => standing === 'supervised' && health === 'unresponsive')
    .map((server) => ({
      id: `unresponsive-${server.id}`,
      level: 'notice',
      title: `${rowName(server)} does not answer`,
      detail: `Its process is alive, PID ${server.pid}: ${server.healthDetail ?? 'no answer in time'}. Restart it if it stays so.`,
      act: 'show-server',
      servers: [server.id],
    }));
}

/** A server of ours that went away unasked: what happened, and what happens next. */
function endedUnasked({ ended }: AlertInput): Alert[] {
  return ended.map((each): Alert => {
    const { nonce, label, why, state, attempt, attempts, retryAt } = each;
    const head = `${capitalised(why.replace(/\.$/u, ''))}.`;
    const next =
      state === 'planned'
        ? 'It is being started again.'
        : retryAt !== null
          ? `It is started again soon, attempt ${attempt} of ${attempts}.`
          : state === 'failed'
            ? `It is not tried again after ${plural(attempt, 'attempt')}; its log may tell why.`
            : 'It is not started again by itself.';
    return {
      id: `ended-${nonce}`,
      level: state === 'failed' ? 'fault' : 'notice',
      title: `${label} ended unexpectedly`,
      // While it is started again its cause is not known any more.
      detail: state === 'planned' ? next : `${head} ${next}`,
      act: state === 'planned' ? 'none' : 'start-again',
      servers: [],
      ended: nonce,
    };
  });
}

/** Announced, so that whoever still wants it can say so. */
function idleSoon({ servers }: AlertInput, now: number): Alert[] {
  return servers.flatMap((server): Alert[] => {
    const { idleMinutes, idleStopAt } = server.supervised ?? { idleMinutes: null, idleStopAt: null };
    if (idleStopAt === null) return [];
    const idle = `It has had no busy session and no client for ${sentenceAge((idleMinutes ?? 0) * 60_000)}`;
    return [
      {
        id: `idle-${server.id}`,
        level: 'notice',
        title: `${rowName(server)} stops soon`,
        detail: `${idle}, and is stopped at ${clockTime(idleStopAt, now)}.`,
        act: 'keep-awake',
        servers: [server.id],
      },
    ];
  });
}

function growing({ servers }: AlertInput): Alert[] {
  return servers
    .filter(({ growing: words }) => words !== null)
    .map((server) => ({
      id: `growing-${server.id}`,
      level: 'notice',
      title: `${rowName(server)} grows: ${server.growing ?? ''}`,
      detail: `It has ${plural(server.processes.length, 'process', 'processes')} and holds ${formatBytes(server.memoryBytes).text}. A restart frees them.`,
      act: 'show-server',
      servers: [server.id],
    }));
}

function staleRecords({ records }: AlertInput): Alert | null {
  const stale = records.filter(({ clearable }) => clearable);
  if (stale.length === 0) return null;
  return {
    id: 'records',
    level: 'notice',
    title: stale.length === 1 ? '1 record is stale' : `${stale.length} records are stale`,
    detail: 'What they name is not there any more. Moving them aside signals nothing.',
    act: 'show-records',
    servers: [],
  };
}

export function alertsOf(input: AlertInput): Alert[] {
  return [
    ...input.faults,
    ...endedUnasked(input),
    leakAlert(input),
    ...unresponsive(input),
    ...idleSoon(input, input.now),
    ...growing(input),
    staleRecords(input),
  ].filter((alert) => alert !== null);
}
