/** The ways the app ends, all through one orderly quit. */

import type { QuitReport } from '../app/supervisor/core.ts';
import { plural } from '../app/text/words.ts';
import { messageOf } from '../app/util/errors.ts';

/** How long servers may take to stop, in milliseconds. */
export const STOP_LIMIT_MS = 10_000;
/** What the core may need beyond that to let go of its locks and workers, in milliseconds. */
const RELEASE_MS = 1_500;
/** A system that lets go of us often says so twice: logind sends SIGTERM and SIGHUP at once. Not a second wish. */
const SAME_GOODBYE_MS = 500;

/** A person may be asked; a signal or the session's end may not. */
export type QuitCause = 'person' | 'system';

export interface QuitDeps {
  /** Stops what is not kept running and lets go of everything; see `LocalCore.close`. */
  close(deadlineMs: number): Promise<QuitReport>;
  /** Whether the person has to be asked now, since something busy would be stopped. */
  mustAsk(): boolean;
  /** Asks; false when the person cancelled. */
  ask(): Promise<boolean>;
  /** Takes windows and icon away as soon as quitting is settled, so that it can be seen. */
  leave(): void;
  exit(code: number): void;
  say(text: string): void;
  readonly stopLimitMs?: number;
}

type State = 'running' | 'asking' | 'closing' | 'over';

/** One sentence on what quitting did. */
export function quitSentence(report: QuitReport): string {
  const parts = [`${plural(report.stopped, 'server')} stopped`];
  if (report.leftRunning > 0) parts.push(`${report.leftRunning} left running`);
  if (report.failed.length > 0) parts.push(`not stopped: ${report.failed.join('; ')}`);
  const quit = `Rollcall has quit: ${parts.join(', ')}.`;
  if (report.unwatched === undefined) return quit;
  return `${quit} Nobody sees to what is left: the guard does not run. ${report.unwatched} Start Rollcall again to have it looked after.`;
}

/**
 * Quitting: asked at most once, bounded, and forced by a second quit. `quit` never rejects.
 */
export class Lifecycle {
  readonly #parts: QuitDeps;
  #state: State = 'running';
  /** When closing began, on the monotonic clock; milliseconds. */
  #since = 0;

  constructor(parts: QuitDeps) {
    this.#parts = parts;
  }

  /** The app is on its way out: windows may close and nothing may keep it. */
  get leaving(): boolean {
    return this.#state === 'closing' || this.#state === 'over';
  }

  async quit(cause: QuitCause): Promise<void> {
    if (this.#state === 'over') return;
    if (this.#state === 'closing') {
      if (cause === 'system' && performance.now() - this.#since < SAME_GOODBYE_MS) return;
      this.#finish(1, 'Rollcall was ended before its servers had stopped. Start it again to see what is left.');
      return;
    }
    // Asking again for what is already asked is a yes.
    if (cause === 'person' && this.#state === 'running' && this.#parts.mustAsk()) {
      this.#state = 'asking';
      const agreed = await this.#ask();
      // A second quit may have settled it while the question stood.
      if (this.#state !== 'asking') return;
      if (!agreed) {
        this.#state = 'running';
        return;
      }
    }
    await this.#close();
  }

  async #ask(): Promise<boolean> {
    try {
      return await this.#parts.ask();
    } catch (error) {
      // Nobody could be asked, so nobody agreed to interrupt what is busy.
      this.#parts.say(`Rollcall stays: its question could not be shown (${messageOf(error)}). Quit again to insist.`);
      return false;
    }
  }

  async #close(): Promise<void> {
    this.#state = 'closing';
    this.#since = performance.now();
    try {
      this.#parts.leave();
    } catch (error) {
      // What stays on the screen goes with the process; the servers must be stopped anyway.
      this.#parts.say(`Rollcall is quitting, but its windows did not close in order: ${messageOf(error)}`);
    }
    const limit = this.#parts.stopLimitMs ?? STOP_LIMIT_MS;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((done) => {
      timer = setTimeout(() => done(null), limit + RELEASE_MS);
    });
    try {
      const report = await Promise.race([this.#parts.close(limit), late]);
      if (report === null) {
        this.#finish(
          1,
          `Rollcall has quit, but its servers had not stopped after ${limit / 1000} s. Start it again to see what is left.`,
        );
      } else {
        this.#finish(report.failed.length > 0 || report.unwatched !== undefined ? 1 : 0, quitSentence(report));
      }
    } catch (error) {
      this.#finish(1, `Rollcall has quit, but not in order: ${messageOf(error)}`);
    } finally {
      clearTimeout(timer);
    }
  }

  #finish(code: number, sentence: string): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#parts.say(sentence);
    this.#parts.exit(code);
  }
}
