/**
 * What is remembered of servers from one look to the next, and over a restart: the last living owner and when it
 * went, the last client and busy sign, and how memory and children have grown. It explains standings; it never
 * authorises a signal.
 */
import { z } from 'zod';
import { formatBytes, plural } from '../roll/words.ts';
import type { RememberedOwner } from './owner.ts';

/** A sample a minute for an hour. */
const SAMPLE_EVERY_MS = 60_000;
const SAMPLES = 60;
/** Growth worth a word: a third more, and at least this much; or children doubled, and at least this many more. */
const GROWTH_BYTES = 200_000_000;
const GROWTH_CHILDREN = 5;
/** CPU counts as low below this percentage of one core; an idle opencode takes 1 to 2.5 (measured). */
export const LOW_CPU_PERCENT = 5;

interface Sample {
  readonly at: number;
  readonly memoryBytes: number;
  readonly children: number;
}

export interface Remembered {
  owner: RememberedOwner | null;
  lastOwnerAt: number | null;
  lastClientAt: number | null;
  lastBusyAt: number | null;
  /** Since when its CPU has been low without a break; null when it is not, or was not measured. */
  lowCpuSince: number | null;
  samples: Sample[];
  seenAt: number;
}

/** Text of the file that carries it over a restart. Times are milliseconds since the epoch. */
const fileSchema = z.object({
  version: z.literal(1),
  servers: z.record(
    z.string(),
    z.object({
      owner: z.object({ label: z.string(), pid: z.int(), key: z.string(), endedAt: z.number().nullable() }).nullable(),
      lastOwnerAt: z.number().nullable(),
      lastClientAt: z.number().nullable(),
      lastBusyAt: z.number().nullable(),
    }),
  ),
});

export class Memory {
  readonly #servers = new Map<string, Remembered>();
  #changed = false;

  /** @param text what `text()` gave earlier; anything else is ignored, since it only explains */
  constructor(text: string | null) {
    if (text === null) return;
    for (const [key, entry] of Object.entries(parse(text))) {
      this.#servers.set(key, { ...entry, lowCpuSince: null, samples: [], seenAt: 0 });
    }
  }

  of(key: string): Remembered {
    let entry = this.#servers.get(key);
    if (entry === undefined) {
      entry = {
        owner: null,
        lastOwnerAt: null,
        lastClientAt: null,
        lastBusyAt: null,
        lowCpuSince: null,
        samples: [],
        seenAt: 0,
      };
      this.#servers.set(key, entry);
    }
    return entry;
  }

  /** Notes a living owner. */
  ownerSeen(key: string, owner: Omit<RememberedOwner, 'endedAt'>, now: number): void {
    const entry = this.of(key);
    if (entry.owner?.key !== owner.key) this.#changed = true;
    entry.owner = { ...owner, endedAt: null };
    entry.lastOwnerAt = now;
  }

  /** Notes that the owner is gone; the first notice counts. */
  ownerGone(key: string, now: number): void {
    const entry = this.of(key);
    if (entry.owner === null || entry.owner.endedAt !== null) return;
    entry.owner = { ...entry.owner, endedAt: now };
    this.#changed = true;
  }

  /** PIDs of owners that were alive when last seen. */
  ownerPids(): number[] {
    return [...this.#servers.values()].flatMap(({ owner }) =>
      owner === null || owner.endedAt !== null ? [] : [owner.pid],
    );
  }

  cpu(key: string, percent: number | null, now: number): void {
    const entry = this.of(key);
    if (percent === null) return;
    if (percent >= LOW_CPU_PERCENT) entry.lowCpuSince = null;
    else entry.lowCpuSince ??= now;
  }

  sample(key: string, memoryBytes: number, children: number, now: number): void {
    const entry = this.of(key);
    entry.seenAt = now;
    const last = entry.samples.at(-1);
    if (last !== undefined && now - last.at < SAMPLE_EVERY_MS) return;
    entry.samples.push({ at: now, memoryBytes, children });
    if (entry.samples.length > SAMPLES) entry.samples.shift();
  }

  /** One sentence when memory or children grew within the samples, else null. */
  growth(key: string, memoryBytes: number, children: number, now: number): string | null {
    const first = this.of(key).samples[0];
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

  /** Forgets servers that have not been seen since `before`, in milliseconds since the epoch. */
  forget(before: number): void {
    for (const [key, entry] of this.#servers) if (entry.seenAt < before) this.#servers.delete(key);
  }

  /** Text for the file when something worth keeping has changed since the last call, else null. */
  text(): string | null {
    if (!this.#changed) return null;
    this.#changed = false;
    const servers = Object.fromEntries(
      [...this.#servers].map(([key, { owner, lastOwnerAt, lastClientAt, lastBusyAt }]) => [
        key,
        { owner, lastOwnerAt, lastClientAt, lastBusyAt },
      ]),
    );
    return `${JSON.stringify({ version: 1, servers })}\n`;
  }
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
