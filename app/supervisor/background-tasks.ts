/** Work that nobody awaits. What goes wrong in it is kept for the person to see until the same work succeeds. */
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
  readonly #troubles = new Map<BackgroundWork, string>();
  readonly #onTrouble: () => void;

  constructor(onTrouble: () => void) {
    this.#onTrouble = onTrouble;
  }

  run(what: BackgroundWork, work: Promise<unknown>): void {
    work.then(
      () => this.clear(what),
      (error: unknown) => this.failed(what, error),
    );
  }

  failed(what: BackgroundWork, error: unknown): void {
    this.note(what, error);
    this.#onTrouble();
  }

  /** As `failed`, without calling anybody. */
  note(what: BackgroundWork, error: unknown): void {
    this.#troubles.set(what, error instanceof Error ? error.message : String(error));
  }

  /** It has succeeded, or was told. */
  clear(what: BackgroundWork): void {
    this.#troubles.delete(what);
  }

  /** The oldest trouble that still stands, in a sentence; null when there is none. */
  get trouble(): string | null {
    return [...this.#troubles.values()][0] ?? null;
  }
}
