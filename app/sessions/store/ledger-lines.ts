/**
 * What stands in the session ledger, line by line, and what the lines say together. Pure.
 *
 *   life     a session's life as a whole: it is open, or ended and with these hooks still to be run
 *   carry    it has another carrier, title or folder
 *   attempt  a hook's runner has been started, by this identity
 *   missed   that attempt did not succeed
 *   done     the hook has done its work
 *   again    a hook that was given up is to be run again
 *   forget   a hook is not to be run any more
 */
import { z } from 'zod';
import { processRefSchema } from '../../records/schema.ts';
import { identitySchema, idSchema } from '../../roll/schema.ts';
import { END_REASONS, type SessionEnd, type SessionRun } from '../session-run.ts';

/** Raised when a line changes so that an earlier Rollcall would misread it. */
const VERSION = 1;

const iso = z.iso.datetime();
const count = z.int().nonnegative();

const lifeSchema = z.object({
  life: z.uuid(),
  key: idSchema,
  id: z.string(),
  kind: z.string(),
  host: z.string(),
  directory: z.string().nullable(),
  title: z.string(),
  carrier: z.object({ label: z.string(), identity: identitySchema.nullable() }),
  openedAt: iso,
}) satisfies z.ZodType<SessionRun>;

const endingSchema = z.object({
  at: iso,
  reason: z.enum(END_REASONS),
  text: z.string(),
}) satisfies z.ZodType<SessionEnd>;

/** A hook as the ledger knows it: never what it runs, which only the configuration says. */
const hookRefSchema = z.object({
  /** Hash of its command. */
  id: idSchema,
  /** Its command for people, redacted. */
  label: z.string(),
});
export type HookRef = Readonly<z.infer<typeof hookRefSchema>>;

const attemptSchema = z.object({
  /** 1 for the first; no number is used twice. */
  number: count,
  runner: processRefSchema,
  at: iso,
  /** How long the hook may take, in seconds. */
  seconds: z.number().positive(),
});
/** A run of a hook whose outcome is not known yet. */
export type Attempt = Readonly<z.infer<typeof attemptSchema>>;

const missSchema = z.object({
  at: iso,
  /** A clause about the hook: "it ended with 1". */
  why: z.string(),
  /** The last lines it wrote, redacted. */
  output: z.string(),
  /** Attempts that have failed, this one included. */
  failures: count,
  /** It is not tried again by itself. */
  final: z.boolean(),
});
/** How the last attempt failed. */
export type Miss = Readonly<z.infer<typeof missSchema>>;

const hookStateSchema = z.object({
  hook: hookRefSchema,
  /** Number of the latest attempt; 0 for none. */
  number: count,
  attempt: attemptSchema.nullable(),
  miss: missSchema.nullable(),
});

const hookKey = z.string().regex(/^[0-9a-f-]{36}\.[0-9a-f]{16}$/u);
const v = z.literal(VERSION);

const lineSchema = z.discriminatedUnion('line', [
  z.object({
    v,
    line: z.literal('life'),
    life: lifeSchema,
    ending: endingSchema.nullable(),
    hooks: z.array(hookStateSchema),
  }),
  z.object({
    v,
    line: z.literal('carry'),
    life: z.uuid(),
    ...lifeSchema.pick({ carrier: true, title: true, directory: true }).shape,
  }),
  z.object({ v, line: z.literal('attempt'), hook: hookKey, attempt: attemptSchema }),
  z.object({ v, line: z.literal('missed'), hook: hookKey, miss: missSchema }),
  z.object({ v, line: z.literal('done'), hook: hookKey }),
  z.object({ v, line: z.literal('again'), hook: hookKey }),
  z.object({ v, line: z.literal('forget'), hook: hookKey }),
]);
export type LedgerLine = z.infer<typeof lineSchema>;
type WithoutVersion<T> = T extends unknown ? Omit<T, 'v'> : never;
/** A line without the version that every line carries. */
export type NewLine = WithoutVersion<LedgerLine>;

/** One line of the file, with its end. */
export function lineText(line: NewLine): string {
  return `${JSON.stringify({ v: VERSION, ...line })}\n`;
}

/** Null for what is no line of this version. */
export function parseLine(text: string): LedgerLine | null {
  try {
    const parsed = lineSchema.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    // No JSON: torn, or damaged.
    return null;
  }
}

/** A hook that is due since a life ended. */
export interface DueHook {
  /** The idempotency key: the same in every attempt. */
  readonly key: string;
  readonly life: SessionRun;
  readonly ending: SessionEnd;
  readonly hook: HookRef;
  readonly number: number;
  readonly attempt: Attempt | null;
  readonly miss: Miss | null;
}

/** The idempotency key of a hook for one life. */
export function hookKeyOf(life: string, hook: string): string {
  return `${life}.${hook}`;
}

interface Entry {
  life: SessionRun;
  ending: SessionEnd | null;
  readonly hooks: Map<string, DueHook>;
}

/** What is kept of ended lives without a hook: these many of the last seven days. */
const KEEP_ENDED = 2000;
const KEEP_ENDED_MS = 7 * 24 * 3600 * 1000;
/** Given-up hooks beyond this number are forgotten, the oldest first. */
const KEEP_FAILED = 500;

/** What all lines together say. */
export class LedgerState {
  readonly #entries = new Map<string, Entry>();
  readonly #open = new Map<string, SessionRun>();
  readonly #hooks = new Map<string, Entry>();
  #ended = 0;

  /** By session key. */
  get open(): ReadonlyMap<string, SessionRun> {
    return this.#open;
  }

  /** Whether this very life has been begun, whatever has become of it. */
  knows(life: string): boolean {
    return this.#entries.has(life);
  }

  /** How many ended lives are kept. */
  get endedCount(): number {
    return this.#ended;
  }

  hooks(): DueHook[] {
    return [...this.#hooks].flatMap(([key, entry]) => entry.hooks.get(key) ?? []);
  }

  hook(key: string): DueHook | null {
    return this.#hooks.get(key)?.hooks.get(key) ?? null;
  }

  /** The latest first. */
  ended(): { readonly life: SessionRun; readonly ending: SessionEnd }[] {
    return [...this.#entries.values()]
      .flatMap(({ life, ending }) => (ending === null ? [] : [{ life, ending }]))
      .sort((a, b) => (a.ending.at < b.ending.at ? 1 : a.ending.at > b.ending.at ? -1 : 0));
  }

  /** Takes one line in; one that changes nothing (what it speaks of is unknown, or over) is left alone. */
  apply(line: NewLine): void {
    switch (line.line) {
      case 'life':
        this.#life(line);
        break;
      case 'carry':
        this.#carry(line);
        break;
      case 'attempt':
        this.#change(line.hook, { attempt: line.attempt, number: line.attempt.number });
        break;
      case 'missed':
        this.#change(line.hook, { attempt: null, miss: line.miss });
        break;
      case 'again':
        this.#change(line.hook, { miss: null });
        break;
      case 'done':
      case 'forget':
        this.#drop(line.hook);
        break;
    }
  }

  #life({ life, ending, hooks }: Extract<NewLine, { line: 'life' }>): void {
    const known = this.#entries.get(life.life);
    // It ends once; and a session lives one life at a time.
    if (known === undefined ? ending === null && this.#open.has(life.key) : known.ending !== null) return;
    if (known !== undefined && ending === null) return;
    const entry: Entry = { life, ending, hooks: new Map() };
    this.#entries.set(life.life, entry);
    if (ending === null) {
      this.#open.set(life.key, life);
      return;
    }
    if (this.#open.get(life.key)?.life === life.life) this.#open.delete(life.key);
    this.#ended += 1;
    for (const state of hooks) {
      const key = hookKeyOf(life.life, state.hook.id);
      entry.hooks.set(key, { key, life, ending, ...state });
      this.#hooks.set(key, entry);
    }
  }

  #carry({ life: id, carrier, title, directory }: Extract<NewLine, { line: 'carry' }>): void {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.ending !== null) return;
    entry.life = { ...entry.life, carrier, title, directory };
    this.#open.set(entry.life.key, entry.life);
  }

  #change(key: string, change: Partial<DueHook>): void {
    const entry = this.#hooks.get(key);
    const hook = entry?.hooks.get(key);
    if (entry !== undefined && hook !== undefined) entry.hooks.set(key, { ...hook, ...change });
  }

  #drop(key: string): void {
    this.#hooks.get(key)?.hooks.delete(key);
    this.#hooks.delete(key);
  }

  /** Forgets what is old or too much; never what is open, nor what has a hook that is still due. */
  prune(now: number): void {
    const failed = this.hooks()
      .filter(({ miss }) => miss?.final === true)
      .sort((a, b) => (a.ending.at < b.ending.at ? -1 : 1));
    for (const { key } of failed.slice(0, Math.max(0, failed.length - KEEP_FAILED))) this.#drop(key);
    let kept = 0;
    for (const { life, ending } of this.ended()) {
      if ((this.#entries.get(life.life)?.hooks.size ?? 0) > 0) continue;
      kept += 1;
      if (kept <= KEEP_ENDED && now - Date.parse(ending.at) <= KEEP_ENDED_MS) continue;
      this.#entries.delete(life.life);
      this.#ended -= 1;
    }
  }

  /** The fewest lines that say the same. */
  lines(): NewLine[] {
    return [...this.#entries.values()].map(({ life, ending, hooks }) => ({
      line: 'life',
      life,
      ending,
      hooks: [...hooks.values()].map(({ hook, number, attempt, miss }) => ({ hook, number, attempt, miss })),
    }));
  }
}
