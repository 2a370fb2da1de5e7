/**
 * What is remembered of servers from one look to the next, and over a restart: the last living owner and when it
 * went, the last client and busy sign, and how memory and children have grown. It explains standings; it never
 * authorises a signal.
 */
import { z } from 'zod';
import { formatBytes, plural } from '../../text/words.ts';
import { LOW_CPU_PERCENT } from '../standing/busyness.ts';
import type { RememberedOwner } from '../standing/owner.ts';

/** A sample a minute for an hour. */
const SAMPLE_EVERY_MS = 60_000;
const SAMPLES = 60;
/** Growth worth a word: a third more, and at least this much; or children doubled, and at least this many more. */
const GROWTH_BYTES = 200_000_000;
const GROWTH_CHILDREN = 5;
/** What was last seen longer ago than this is not taken over from the file, so that it cannot grow for ever. */
const KEEP_MS = 30 * 24 * 3600 * 1000;
/** Signs are written down at most this often; that an owner came or went, at once. */
const SIGNS_EVERY_MS = 30_000;

interface Sample {
  readonly at: number;
  readonly memoryBytes: number;
  readonly children: number;
}

export interface Remembered {
  readonly owner: RememberedOwner | null;
  /** When an owner, a client or a busy sign was last seen; null for never. */
  readonly lastSignAt: number | null;
  /** Since when its CPU has been low without a break; null when it is not, or was not measured. */
  readonly lowCpuSince: number | null;
  readonly samples: readonly Sample[];
  /** Null until this process has seen it itself. */
  readonly seenAt: number | null;
}

/** Of a server that was never seen. */
export const NOTHING_YET: Remembered = { owner: null, lastSignAt: null, lowCpuSince: null, samples: [], seenAt: null };

/** Text of the file that carries it over a restart. Its times are milliseconds since the epoch. */
const fileSchema = z.object({
  version: z.literal(1),
  servers: z.record(
    z.string(),
    z.object({
      owner: z
        .object({
          label: z.string(),
          pid: z.int(),
          key: z.string(),
          gone: z.boolean(),
          endedAt: z.number().nullable(),
        })
        .nullable(),
      lastSignAt: z.number().nullable(),
    }),
  ),
});

/**
 * All times are milliseconds on the monotonic clock (`performance.now()`), which no setting of the time changes and
 * which stands still in suspend; only an owner's `endedAt` is a time of day, for people.
 */
export class ServerHistory {
  readonly #servers = new Map<string, Remembered>();
  #ownersChanged = false;
  #signsChanged = false;
  #writtenAt = Number.NEGATIVE_INFINITY;
  readonly #openedAt: number;

  /** @param text what `text()` gave earlier; anything else is ignored, since it only explains */
  constructor(text: string | null, now: number) {
    this.#openedAt = now;
    if (text === null) return;
    for (const [key, { owner, lastSignAt }] of Object.entries(parse(text))) {
      if (lastSignAt === null) continue;
      const ago = Math.max(0, Date.now() - lastSignAt);
      if (ago < KEEP_MS) this.#servers.set(key, { ...NOTHING_YET, owner, lastSignAt: now - ago });
    }
  }

  of(key: string): Remembered {
    return this.#servers.get(key) ?? NOTHING_YET;
  }

  /** Takes what judging a server has added to what was remembered of it. */
  keep(key: string, next: Remembered): void {
    const { owner, lastSignAt } = this.of(key);
    if (owner?.key !== next.owner?.key || owner?.gone !== next.owner?.gone) this.#ownersChanged = true;
    if (lastSignAt !== next.lastSignAt) this.#signsChanged = true;
    this.#servers.set(key, next);
  }

  /** PIDs of owners that were alive when last seen. */
  ownerPids(): number[] {
    return [...this.#servers.values()].flatMap(({ owner }) => (owner === null || owner.gone ? [] : [owner.pid]));
  }

  /** Forgets servers that have not been seen since `before`; those from the file count as seen when it was read. */
  forget(before: number): void {
    for (const [key, entry] of this.#servers) {
      if ((entry.seenAt ?? this.#openedAt) < before) this.#servers.delete(key);
    }
  }

  /** The last text could not be written: it is due again. */
  unwritten(): void {
    this.#ownersChanged = true;
  }

  /** Text for the file when it is time to write it, else null. */
  text(now: number): string | null {
    const due = this.#ownersChanged || (this.#signsChanged && now - this.#writtenAt >= SIGNS_EVERY_MS);
    if (!due) return null;
    this.#ownersChanged = false;
    this.#signsChanged = false;
    this.#writtenAt = now;
    const servers = Object.fromEntries(
      [...this.#servers].map(([key, { owner, lastSignAt }]) => [
        key,
        { owner, lastSignAt: lastSignAt === null ? null : Math.round(Date.now() - (now - lastSignAt)) },
      ]),
    );
    return `${JSON.stringify({ version: 1, servers })}\n`;
  }
}

/** With a living owner, which is a sign of use. @param now monotonic milliseconds */
export function withOwner(
  before: Remembered,
  owner: Pick<RememberedOwner, 'label' | 'pid' | 'key'>,
  now: number,
): Remembered {
  return { ...before, owner: { ...owner, gone: false, endedAt: null }, lastSignAt: now };
}

/** With its owner gone. When it went is known only if this process saw it while it lived. @param today epoch milliseconds */
export function withoutOwner(before: Remembered, today: number): Remembered {
  if (before.owner === null || before.owner.gone) return before;
  return { ...before, owner: { ...before.owner, gone: true, endedAt: before.seenAt === null ? null : today } };
}

/** With a measure of its CPU, in percent of one core; null where it could not be measured. */
export function withCpu(before: Remembered, percent: number | null, now: number): Remembered {
  if (percent === null) return before;
  return { ...before, lowCpuSince: percent >= LOW_CPU_PERCENT ? null : (before.lowCpuSince ?? now) };
}

/** With a client or a sign of work. */
export function withActivity(before: Remembered, now: number): Remembered {
  return { ...before, lastSignAt: now };
}

/** Seen now, with this much memory and so many children. */
export function withSample(before: Remembered, memoryBytes: number, children: number, now: number): Remembered {
  const last = before.samples.at(-1);
  if (last !== undefined && now - last.at < SAMPLE_EVERY_MS) return { ...before, seenAt: now };
  return { ...before, seenAt: now, samples: [...before.samples, { at: now, memoryBytes, children }].slice(-SAMPLES) };
}

/** One sentence when memory or children grew within the samples, else null. */
export function growthOf(
  { samples: [first] }: Remembered,
  memoryBytes: number,
  children: number,
  now: number,
): string | null {
  if (first === undefined) return null;
  const minutes = Math.max(1, Math.round((now - first.at) / 60_000));
  const more = memoryBytes - first.memoryBytes;
  if (more > GROWTH_BYTES && more > first.memoryBytes / 3) return `${formatBytes(more).text} more in ${minutes} min`;
  const born = children - first.children;
  if (born >= GROWTH_CHILDREN && children >= 2 * first.children) {
    return `${plural(born, 'more child', 'more children')} in ${minutes} min`;
  }
  return null;
}

function parse(text: string): z.infer<typeof fileSchema>['servers'] {
  try {
    const parsed = fileSchema.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data.servers : {};
  } catch {
    // A torn memory only costs explanations ("its owner was …"); the next one replaces it.
    return {};
  }
}
