/** What ssh asks while it connects, and who answers. */

export type QuestionType = 'password' | 'passphrase' | 'code' | 'host-key' | 'confirm';

export interface SshQuestion {
  /** Unique within this process. */
  readonly id: string;
  readonly alias: string;
  readonly type: QuestionType;
  /** ssh's own words, of several lines where it has several. */
  readonly text: string;
  /** Of the host key in question, `SHA256:…`. */
  readonly fingerprint?: string;
  /** File of the key whose passphrase is asked. */
  readonly keyPath?: string;
  /** 1, and one more each time the same is asked again by one ssh. */
  readonly attempt: number;
}

/**
 * Asks the person. Resolves with the answer (`yes` or `no` for a host key or a confirmation), null when it is given up,
 * which gives up the whole connection. The signal fires when nobody waits for the answer any more.
 */
export type Ask = (question: SshQuestion, signal: AbortSignal) => Promise<string | null>;

/** How the questions of one ssh ended; null when none was given up. */
export type GivenUp = 'cancelled' | 'timeout' | null;

/** Lets the questions of one ssh through, and of what it starts (a jump's ssh). */
export interface PromptScope {
  /** Added to the environment of ssh; holds no secret. */
  readonly env: Readonly<Record<string, string>>;
  readonly givenUp: GivenUp;
  /** @param pid of the ssh: our own child, not collected until `release` */
  started(pid: number): void;
  /** No more questions of this ssh; a pending one is taken back. */
  release(): void;
}

/** Where masters get their questions answered. */
export interface PromptBroker {
  /** @param onPending with the question that waits, and null when none does any more */
  admit(alias: string, onPending: (question: SshQuestion | null) => void): PromptScope;
}
