import type { Observer } from '../../../identity/identity.ts';
import { messageOf } from '../../../util/errors.ts';
import { loadLibc } from '../../../util/libc.ts';
import { type Look, LookFailed, type LookRequest, type ProcessInfo } from '../../host.ts';
import { ProcReader } from '../procfs/read.ts';
import type { Recognise } from './candidates.ts';
import { Collector } from './collect.ts';

/** Takes looks. Which thread does the reading is its own affair. */
export interface Looker {
  /** Tells where to look from; called once, before any look. */
  start(place: LookingPlace): Promise<void>;
  /** Rejects with `LookFailed` where the process table cannot be read at all. */
  look(request: LookRequest): Promise<Look>;
  /** One process now; null when it is not there. Rejects with `ReadFailed` or `LookFailed`. */
  inspect(pid: number): Promise<ProcessInfo | null>;
  /** Who listens on a TCP port here; null for nobody. Rejects with `LookFailed` when the sockets cannot be read. */
  portHolder(port: number): Promise<ProcessInfo | 'unreadable' | null>;
  close(): Promise<void>;
}

export interface LookingPlace {
  readonly observer: Observer;
  readonly procRoot: string;
  readonly ownUid: number;
}

/** The kernel's own process table; pidfds mean nothing for another root. */
export const REAL_PROC = '/proc';

/** Makes the collector for a place, with pidfds where they can be had. */
export async function collectorFor(
  place: LookingPlace,
  recognise: Recognise,
  beat?: (pid: number) => void,
): Promise<Collector> {
  const load = place.procRoot === REAL_PROC ? await loadLibc() : null;
  const libc = load?.loaded === true ? load.libc : null;
  return new Collector({
    recognise,
    observer: place.observer,
    source: new ProcReader(place.procRoot, beat, libc),
    ownUid: place.ownUid,
    libc,
  });
}

/** Looks in the calling thread: for one look of a short-lived command. A read that blocks blocks the caller. */
export function inlineLooker(recognise: Recognise): Looker {
  let collector: Collector | null = null;
  const started = (): Collector => {
    if (collector === null) throw new LookFailed('the looker has not been started');
    return collector;
  };
  return {
    async start(place) {
      collector = await collectorFor(place, recognise);
    },
    async look(request) {
      try {
        return started().look(request);
      } catch (error) {
        throw error instanceof LookFailed ? error : new LookFailed(messageOf(error), error);
      }
    },
    async inspect(pid) {
      return started().inspect(pid);
    },
    async portHolder(port) {
      return started().portHolder(port);
    },
    async close() {
      collector = null;
    },
  };
}
