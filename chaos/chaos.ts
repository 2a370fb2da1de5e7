/** What every action has at hand. */
import type { Harm } from './harm.ts';
import type { Being, ChaosLedger } from './ledger.ts';
import type { Random } from './random.ts';
import type { Stage } from './stage.ts';
import type { Strangers, Wish } from './strangers.ts';

export interface Chaos {
  readonly stage: Stage;
  readonly ledger: ChaosLedger;
  readonly strangers: Strangers;
  readonly harm: Harm;
  /** Kinds and counts of what happened, for the report. */
  count(what: string): void;
  /** A line of the action log. */
  log(entry: Readonly<Record<string, unknown>>): void;
  /** Something that takes its time; the run waits for it before it judges. */
  later(work: Promise<unknown>): void;
}

export interface Action {
  readonly name: string;
  readonly weight: number;
  /** Does it, or begins it. @returns what exactly, for the log; null when there was nothing to do it to */
  run(chaos: Chaos, random: Random): Promise<string | null>;
}

export const SIGHUP = 1;
export const SIGKILL = 9;
export const SIGTERM = 15;
export const SIGCONT = 18;
export const SIGSTOP = 19;

export const MAX_SERVERS = 7;
export const MAX_STRANGERS = 40;

export const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

export const named = ({ role, pid, label }: Being): string => `${role} ${pid} (${label.slice(0, 60)})`;

/** Who takes the place of somebody who is ended: nobody, a plain stranger, or one that looks like what was there. */
export function successor(chaos: Chaos, random: Random): Omit<Wish, 'pid'> | undefined {
  if (chaos.strangers.living.length >= MAX_STRANGERS) return undefined;
  const { program, real, folders } = chaos.stage.moods;
  const cwd = folders['plain'] ?? '/';
  switch (random.between(0, 4)) {
    case 0:
      return undefined;
    case 1:
      // A server of the same kind with the same arguments, of another user.
      return {
        label: 'opencode of another user',
        program: real,
        argv: [program, 'serve', '--port', '0'],
        cwd,
        uid: 65_534,
      };
    default:
      return { label: 'took a PID' };
  }
}
