/**
 * The session ledger, `sessions.jsonl`: which sessions live, how they ended, and which session-end hooks are still due.
 * It outlives every process of ours, so a session that was alive when all of them were killed is still known to the
 * next one, and its hooks run then. Only the holder of the writer's lock opens it.
 */
import { oneLine } from '../../servers/redact.ts';
import type { SessionEnd, SessionRun } from '../session-run.ts';
import { appendLedger, keepAside, LedgerFailed, readLedger, replaceLedger } from './ledger-file.ts';
import {
  type Attempt,
  type DueHook,
  type HookRef,
  LedgerState,
  lineText,
  type Miss,
  type NewLine,
  parseLine,
} from './ledger-lines.ts';

/** Longest title that is kept, in UTF-16 units. */
const TITLE_MAX = 300;
/** What could not be written is tried again this often, in milliseconds, and with every further line. */
const AGAIN_MS = 5000;
/** Above this many lines that could not be written, the whole is written instead as soon as anything can be. */
const MAX_WAITING = 10_000;
/** The file is written anew when it has grown by this much, in bytes. */
const GROWTH_BYTES = 4 * 1024 * 1024;
/** Ended lives in memory above this number are pruned. */
const MAX_ENDED = 4000;

/** Something new about an open session; what is left out stays as it was. */
export interface CarriedRun {
  readonly key: string;
  readonly carrier?: SessionRun['carrier'];
  readonly title?: string;
  readonly directory?: string | null;
}

export interface EndedRun {
  readonly key: string;
  readonly ending: SessionEnd;
  /** What is to be run at its end. */
  readonly hooks: readonly HookRef[];
}

/**
 * No method throws: what cannot be written is kept in memory, told as `problem`, and written when it can be. Each call
 * with several things is one write and one sync.
 */
export class SessionLedger {
  readonly path: string;
  readonly #now: () => number;
  readonly #state = new LedgerState();
  /** The file holds something that could not be read, so it is left alone. */
  #blocked: string | null = null;
  #problem: string | null = null;
  #damage: string | null = null;
  /** Lines that could not be written yet. */
  #waiting: string[] = [];
  /** More is unwritten than is worth keeping line by line. */
  #rewrite = false;
  #size = 0;
  #compactedSize = 0;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  private constructor(path: string, now: () => number) {
    this.path = path;
    this.#now = now;
  }

  /** Reads what there is, and writes it anew without what is old. */
  static open(path: string, now: () => number = () => Date.now()): SessionLedger {
    const ledger = new SessionLedger(path, now);
    ledger.#read();
    return ledger;
  }

  /** Why it cannot be written or read, in a sentence; null when all of it is on disk. */
  get problem(): string | null {
    return this.#problem;
  }

  /** What was wrong with the file when it was opened, in a sentence; null when nothing was. */
  get damage(): string | null {
    return this.#damage;
  }

  /** The sessions that live, by their keys. */
  open(): ReadonlyMap<string, SessionRun> {
    return this.#state.open;
  }

  /** Ended lives of the last seven days, the latest first. */
  recentlyEnded(): readonly { readonly life: SessionRun; readonly ending: SessionEnd }[] {
    return this.#state.ended();
  }

  /** Hooks that are still to be run, the oldest first. */
  due(): readonly DueHook[] {
    return this.#state.hooks().filter(({ miss }) => miss?.final !== true);
  }

  /** Hooks that have failed too often. */
  failed(): readonly DueHook[] {
    return this.#state.hooks().filter(({ miss }) => miss?.final === true);
  }

  hook(key: string): DueHook | null {
    return this.#state.hook(key);
  }

  /** Sessions that live now. One whose key lives already is passed over, and so is a life that has been before. */
  begin(lives: readonly SessionRun[]): void {
    const lines: NewLine[] = [];
    const keys = new Set<string>();
    for (const life of lives) {
      if (this.#state.open.has(life.key) || keys.has(life.key) || this.#state.knows(life.life)) continue;
      keys.add(life.key);
      lines.push({ line: 'life', life: { ...life, title: oneLine(life.title, TITLE_MAX) }, ending: null, hooks: [] });
    }
    this.#write(lines);
  }

  /** Open sessions that have another carrier, title or folder. */
  carry(changes: readonly CarriedRun[]): void {
    this.#write(
      changes.flatMap(({ key, carrier, title, directory }): NewLine[] => {
        const life = this.#state.open.get(key);
        if (life === undefined) return [];
        const next = {
          carrier: carrier ?? life.carrier,
          title: title === undefined ? life.title : oneLine(title, TITLE_MAX),
          directory: directory === undefined ? life.directory : directory,
        };
        const same =
          next.title === life.title &&
          next.directory === life.directory &&
          JSON.stringify(next.carrier) === JSON.stringify(life.carrier);
        return same ? [] : [{ line: 'carry', life: life.life, ...next }];
      }),
    );
  }

  /**
   * Ends open sessions. One that is not open is passed over, so a life ends once and its hooks are due once.
   *
   * @returns the lives that ended by this call
   */
  end(endings: readonly EndedRun[]): SessionRun[] {
    const ended = new Map<string, SessionRun>();
    const lines: NewLine[] = [];
    for (const { key, ending, hooks } of endings) {
      const life = this.#state.open.get(key);
      if (life === undefined || ended.has(key)) continue;
      ended.set(key, life);
      const once = new Map(hooks.map((hook) => [hook.id, hook]));
      const due = [...once.values()].map((hook) => ({ hook, number: 0, attempt: null, miss: null }));
      lines.push({ line: 'life', life, ending, hooks: due });
    }
    this.#write(lines);
    if (this.#state.endedCount > MAX_ENDED) this.#state.prune(this.#now());
    return [...ended.values()];
  }

  /**
   * A hook's runner has been started. It must not go on before this is on disk.
   *
   * @returns whether it is
   */
  attempted(key: string, attempt: Attempt): boolean {
    return this.#write([{ line: 'attempt', hook: key, attempt }]);
  }

  /** A hook has done its work. */
  finished(key: string): void {
    this.#write([{ line: 'done', hook: key }]);
  }

  /** An attempt has failed, or came to nothing. */
  missed(key: string, miss: Miss): void {
    this.#write([{ line: 'missed', hook: key, miss }]);
  }

  /** Hooks that were given up are due again, with all their attempts. */
  again(keys: readonly string[]): void {
    this.#write(keys.map((hook) => ({ line: 'again', hook })));
  }

  /** Hooks are not to be run any more. */
  forget(keys: readonly string[]): void {
    this.#write(keys.map((hook) => ({ line: 'forget', hook })));
  }

  /** Tries to write what could not be written. @returns whether all is on disk */
  flush(): boolean {
    if (this.#closed || this.#blocked !== null) return false;
    if (!this.#rewrite && this.#waiting.length === 0) return true;
    try {
      if (this.#rewrite) this.#compact();
      else this.#size = appendLedger(this.path, this.#waiting.join(''));
      this.#waiting = [];
      this.#problem = null;
      this.#stopTimer();
      return true;
    } catch (error) {
      if (!(error instanceof LedgerFailed)) throw error;
      this.#problem = error.message;
      if (this.#waiting.length > MAX_WAITING) {
        this.#waiting = [];
        this.#rewrite = true;
      }
      this.#timer ??= setInterval(() => this.flush(), AGAIN_MS).unref();
      return false;
    }
  }

  /** Ends with one more try to write what could not be written. Nothing is written after it. */
  close(): void {
    this.flush();
    this.#stopTimer();
    this.#closed = true;
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** @returns whether all is on disk */
  #write(lines: readonly NewLine[]): boolean {
    if (this.#closed) return false;
    if (lines.length === 0) return true;
    for (const line of lines) this.#state.apply(line);
    if (this.#blocked !== null) return false;
    if (!this.#rewrite) for (const line of lines) this.#waiting.push(lineText(line));
    const written = this.flush();
    if (written && this.#size - this.#compactedSize > GROWTH_BYTES) this.#compactIfPossible();
    return written;
  }

  #read(): void {
    let text: string;
    try {
      text = readLedger(this.path);
    } catch (error) {
      if (!(error instanceof LedgerFailed)) throw error;
      this.#blocked = error.message;
      this.#problem = error.message;
      return;
    }
    const lines = text.split('\n');
    // What a crash tore is no damage: whoever wrote it was not told that it was written.
    const torn = lines.pop() ?? '';
    let lost = 0;
    for (const raw of lines) {
      if (raw === '') continue;
      const line = parseLine(raw);
      if (line === null) lost += 1;
      else this.#state.apply(line);
    }
    const last = torn === '' ? null : parseLine(torn);
    if (last !== null) this.#state.apply(last);
    this.#size = Buffer.byteLength(text);
    this.#compactedSize = this.#size;
    if (lost > 0 && !this.#keep(lost)) return;
    if (text !== '') this.#compactIfPossible();
  }

  /** @returns whether the file as it was is kept, so that it may be replaced */
  #keep(lost: number): boolean {
    const what = lost === 1 ? '1 line of' : `${lost} lines of`;
    try {
      const aside = keepAside(this.path, this.#now());
      this.#damage = `${what} the session ledger ${this.path} could not be read and were left out; the file as it was is kept as ${aside}.`;
      return true;
    } catch (error) {
      if (!(error instanceof LedgerFailed)) throw error;
      this.#damage = `${what} the session ledger ${this.path} could not be read and were left out. ${error.message}`;
      return false;
    }
  }

  /** A file that could not be made smaller stays as it is. */
  #compactIfPossible(): void {
    try {
      this.#compact();
    } catch (error) {
      if (!(error instanceof LedgerFailed)) throw error;
      this.#compactedSize = this.#size;
    }
  }

  #compact(): void {
    this.#state.prune(this.#now());
    this.#size = replaceLedger(this.path, this.#state.lines().map(lineText).join(''));
    this.#compactedSize = this.#size;
    this.#rewrite = false;
  }
}

export { type Attempt, type DueHook, type HookRef, hookKeyOf, type Miss } from './ledger-lines.ts';
