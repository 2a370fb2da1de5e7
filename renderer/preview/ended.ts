/** Example rolls with servers that exited unexpectedly, and one whose program was replaced. */
import type { Alert, Ended, Roll } from '../../app/roll/schema.ts';
import { HOME, localRoll, TAKEN_AT } from './rolls.ts';

const at = (ms: number): string => new Date(TAKEN_AT.getTime() + ms).toISOString();

function ended(n: number, over: Partial<Ended>): Ended {
  const port = 4400 + n;
  return {
    nonce: `5e0c7a${n.toString(16).padStart(2, '0')}-1b2c-4d3e-8f40-a1b2c3d4e5f6`,
    host: 'local',
    kind: 'opencode',
    label: `opencode :${port} on local`,
    directory: `${HOME}/src/ledger`,
    pid: 30_000 + n,
    state: 'lost',
    why: 'it was ended by SIGKILL',
    endedAt: at(-2000),
    attempt: 2,
    attempts: 5,
    retryAt: at(5000),
    logPath: `${HOME}/.local/state/rollcall/logs/${n}.log`,
    ...over,
  };
}

/** Waits for its restart. */
export const WAITING = ended(1, {});
/** Its restarts were given up. */
export const GIVEN_UP = ended(2, { state: 'failed', why: 'it exited with code 1', attempt: 5, retryAt: null });
/** Somebody meant it to end, so only a person starts it again. */
export const MEANT = ended(3, { why: 'it was ended by SIGTERM', attempt: 0, retryAt: null, logPath: null });
/** Is being started again. */
export const STARTING = ended(4, { state: 'planned', why: 'it is being started again', retryAt: null });

/** As the supervisor tells of one. */
export function endedAlert({ nonce, label, state }: Ended): Alert {
  return {
    id: `ended-${nonce}`,
    level: state === 'failed' ? 'fault' : 'notice',
    title: `${label} ended unexpectedly`,
    detail: '',
    act: state === 'planned' ? 'none' : 'start-again',
    servers: [],
    ended: nonce,
  };
}

/** This machine with nothing leaked, these servers ended, and a supervised one that a restart would renew. */
export function endedRoll(...list: readonly Ended[]): Roll {
  const roll = localRoll();
  return {
    ...roll,
    servers: roll.servers
      .filter(({ standing, ownUid }) => standing !== 'leaked' && ownUid)
      .map((server) =>
        server.supervised === null || server.kind !== 't3'
          ? server
          : {
              ...server,
              supervised: {
                ...server.supervised,
                outdated: '/usr/local/bin/t3 was replaced since it was started.',
              },
            },
      ),
    leftovers: [],
    ended: [...list],
    alerts: list.map(endedAlert),
  };
}
