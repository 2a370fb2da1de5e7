/** Work that nobody awaits. What goes wrong in it is kept for the person to see until the same work succeeds. */
export type AsideWork =
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

export class Asides {
  readonly #troubles = new Map<AsideWork, string>();
  readonly #onTrouble: () => void;

  constructor(onTrouble: () => void) {
    this.#onTrouble = onTrouble;
  }

  run(what: AsideWork, work: Promise<unknown>): void {
    work.then(
      () => this.clear(what),
      (error: unknown) => this.failed(what, error),
    );
  }

  failed(what: AsideWork, error: unknown): void {
    this.note(what, error);
    this.#onTrouble();
  }

  /** As `failed`, without calling anybody. */
  note(what: AsideWork, error: unknown): void {
    this.#troubles.set(what, error instanceof Error ? error.message : String(error));
  }

  /** It has succeeded, or was told. */
  clear(what: AsideWork): void {
    this.#troubles.delete(what);
  }

  /** The oldest trouble that still stands, in a sentence; null when there is none. */
  get trouble(): string | null {
    return [...this.#troubles.values()][0] ?? null;
  }
}
