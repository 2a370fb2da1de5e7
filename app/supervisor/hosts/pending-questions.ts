/** Questions of ssh that wait for a person. Answers pass through and are kept nowhere. */
import type { SshQuestion } from '../../hosts/ssh/askpass/questions.ts';
import type { Question } from '../../roll/schema.ts';

/** A person may have to look for a one-time code. Milliseconds. */
export const ANSWER_WITHIN_MS = 180_000;

interface Waiting {
  readonly question: Question;
  readonly settle: (answer: string | null) => void;
}

export class PendingQuestions {
  readonly #waiting = new Map<string, Waiting>();
  readonly #onChange: () => void;
  readonly #nameOf: (alias: string) => string;

  /** @param nameOf what the host with that alias is called */
  constructor(nameOf: (alias: string) => string, onChange: () => void) {
    this.#nameOf = nameOf;
    this.#onChange = onChange;
  }

  get list(): readonly Question[] {
    return [...this.#waiting.values()].map(({ question }) => question);
  }

  /** Resolves with the person's answer; null when it is taken back, comes too late or is not wanted any more. */
  ask(asked: SshQuestion, signal: AbortSignal): Promise<string | null> {
    if (signal.aborted) return Promise.resolve(null);
    return new Promise((resolve) => {
      const settle = (answer: string | null): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        if (this.#waiting.delete(asked.id)) this.#onChange();
        resolve(answer);
      };
      const giveUp = (): void => settle(null);
      const timer = setTimeout(giveUp, ANSWER_WITHIN_MS);
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.set(asked.id, {
        settle,
        question: {
          id: asked.id,
          host: this.#nameOf(asked.alias),
          type: asked.type,
          text: asked.text,
          fingerprint: asked.fingerprint ?? null,
          keyPath: asked.keyPath ?? null,
          attempt: asked.attempt,
          until: new Date(Date.now() + ANSWER_WITHIN_MS).toISOString(),
        },
      });
      this.#onChange();
    });
  }

  /** @returns false when nobody waits for it */
  answer(id: string, answer: string | null): boolean {
    const waiting = this.#waiting.get(id);
    waiting?.settle(answer);
    return waiting !== undefined;
  }

  /** Takes every question back. */
  close(): void {
    for (const { settle } of this.#waiting.values()) settle(null);
  }
}
