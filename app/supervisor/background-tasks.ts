/** Work that nobody awaits. What goes wrong in it is kept for the person to see until the same work succeeds. */
import { messageOf } from '../util/errors.ts';
export type BackgroundWork =
  | 'settings'
  | 'programs'
  | 'owners'
  | 'recovery'
  | 'records'
  | 'judging'
  | 'looking'
  | 'memory'
  | 'sessions'
  | 'idle'
  | 'showing';

export class BackgroundTasks {
  readonly #problems = new Map<BackgroundWork, string>();
  readonly #onProblem: () => void;

  constructor(onProblem: () => void) {
    this.#onProblem = onProblem;
  }

  run(what: BackgroundWork, work: Promise<unknown>): void {
    work.then(
      () => this.clear(what),
      (error: unknown) => this.failed(what, error),
    );
  }

  failed(what: BackgroundWork, error: unknown): void {
    this.note(what, error);
    this.#onProblem();
  }

  /** As `failed`, without calling anybody. */
  note(what: BackgroundWork, error: unknown): void {
    this.#problems.set(what, messageOf(error));
  }

  /** It has succeeded, or was told. */
  clear(what: BackgroundWork): void {
    this.#problems.delete(what);
  }

  /** The oldest trouble that still stands, in a sentence; null when there is none. */
  get problem(): string | null {
    return [...this.#problems.values()][0] ?? null;
  }
}
