/** The session ledger and the session-end hooks of this process: one for all hosts, since both are this person's. */

import type { Alert } from '../../roll/schema.ts';
import { type HookFailure, Hooks, type HooksDeps } from '../../sessions/hooks/hooks.ts';
import { persistenceFor } from '../../sessions/persistence.ts';
import type { SessionStore } from '../../sessions/session-tracker.ts';
import { SessionLedger } from '../../sessions/store/ledger.ts';
import { capitalised, plural } from '../../text/words.ts';

export interface SessionPersistenceDeps extends Omit<HooksDeps, 'ledger'> {
  readonly ledgerFile: string;
}

export class SessionPersistence {
  /** What is due at the end of a life is due from the same line on that says that it ended. */
  readonly lives: SessionStore;
  readonly #ledger: SessionLedger;
  readonly #hooks: Hooks;

  /** Reads the ledger, and goes on with hooks that were due when its last writer went. Only for the holder of the writer's lock. */
  constructor({ ledgerFile, ...parts }: SessionPersistenceDeps) {
    this.#ledger = SessionLedger.open(ledgerFile);
    this.#hooks = new Hooks({ ...parts, ledger: this.#ledger });
    this.lives = persistenceFor(this.#ledger, this.#hooks);
    this.#hooks.pump();
  }

  /** How many hooks are still to be run, or run now. */
  get due(): number {
    // Nothing runs that cannot be written down before, so nobody need wait for it: it is due still for whoever comes later.
    return this.#ledger.problem === null ? this.#hooks.due : 0;
  }

  retry(): number {
    const failed = this.#hooks.failures().length;
    this.#hooks.retry();
    return failed;
  }

  forget(): number {
    const failed = this.#hooks.failures().length;
    this.#hooks.forget();
    return failed;
  }

  /** What the person should know of it. */
  alerts(): Alert[] {
    const { problem, damage } = this.#ledger;
    return [
      ...(problem === null ? [] : [fault('sessions-unkept', 'Sessions cannot be written down', problem)]),
      ...(damage === null
        ? []
        : [{ ...fault('sessions-damaged', 'The session ledger was damaged', damage), level: 'notice' as const }]),
      ...failedHooks(this.#hooks.failures()),
    ];
  }

  /** Resolves when no hook is due any more, or the time in milliseconds is up. */
  settled(deadlineMs: number): Promise<boolean> {
    return this.#hooks.settled(deadlineMs);
  }

  /** Lets go. Hooks that run go on, and whoever comes next knows them. */
  close(): void {
    this.#hooks.close();
    this.#ledger.close();
  }
}

/** The alert of hooks that have failed; none where none has. */
export function failedHooks(failures: readonly HookFailure[]): Alert[] {
  const [first] = failures;
  if (first === undefined) return [];
  const name = first.life.title === '' ? first.life.id : `“${first.life.title}”`;
  const title =
    failures.length === 1
      ? `A session-end hook did not run for ${name}`
      : `${plural(failures.length, 'session-end hook')} did not run`;
  const times = first.failures === 0 ? '' : ` after ${plural(first.failures, 'attempt')}`;
  const last = first.output.trim().split('\n').at(-1) ?? '';
  const said = last === '' ? '' : ` It said: ${last}`;
  const detail = `${capitalised(first.hook)}: ${first.why}${times}.${said}`;
  return [fault('hooks', title, detail, 'retry-hooks')];
}

function fault(id: string, title: string, detail: string, act: Alert['act'] = 'none'): Alert {
  return { id, level: 'fault', title, detail, act, servers: [] };
}
