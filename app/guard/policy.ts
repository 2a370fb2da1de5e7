/** What a guard that has taken over does with each server, and whether it is needed any longer. Pure. */
import type { Supervised } from '../supervisor/core.ts';
import type { Afterwards } from '../supervisor/guard-port.ts';

/** A server of which nobody can tell whether it is busy is waited for this long, in milliseconds. */
export const UNKNOWN_MS = 60_000;
/** One that did not end is tried again after this long, in milliseconds. */
export const RETRY_MS = 60_000;

export interface PolicyInput {
  readonly servers: readonly Supervised[];
  readonly mission: Exclude<Afterwards, 'nothing'>;
  /** Nonces of the servers that the app had; what was started since belongs to whoever started it. */
  readonly inherited: ReadonlySet<string>;
  /** The setting: servers that are not kept running stop with the app. */
  readonly stopLocalServers: boolean;
  /** The time in which a successor may come is over. */
  readonly graceOver: boolean;
  /** When each server was last tried, by nonce; monotonic milliseconds. */
  readonly tried: ReadonlyMap<string, number>;
  /** Since when it is not known whether a server is busy, by nonce. */
  readonly unknownSince: ReadonlyMap<string, number>;
  readonly now: number;
}

export interface PolicyOutcome {
  /** Servers to end now. `force` only where it could not be told whether they are busy. */
  readonly end: readonly { readonly server: Supervised; readonly force: boolean }[];
  /** Something still needs somebody who watches. */
  readonly needed: boolean;
}

/**
 * A server that is bound to a process has an owner still: it is ended when that goes away, by the supervisor itself.
 * The others lost theirs with the app: those that are not kept running are ended, busy ones once they are idle.
 */
export function decide(input: PolicyInput): PolicyOutcome {
  const bound = input.servers.filter(({ record }) => record.owner !== null);
  const orphaned = input.servers.filter(
    ({ record }) =>
      input.mission === 'end-servers' &&
      input.stopLocalServers &&
      record.owner === null &&
      !record.keepRunning &&
      input.inherited.has(record.nonce),
  );
  const end = orphaned.flatMap((server) => {
    const { nonce } = server.record;
    if (!input.graceOver || server.busy === 'busy') return [];
    if ((input.tried.get(nonce) ?? Number.NEGATIVE_INFINITY) + RETRY_MS > input.now) return [];
    if (server.busy === 'idle') return [{ server, force: false }];
    const waited = input.now - (input.unknownSince.get(nonce) ?? input.now);
    return waited < UNKNOWN_MS ? [] : [{ server, force: true }];
  });
  return { end, needed: bound.length + orphaned.length > 0 };
}
