/**
 * Things that must be done once although several processes may come to do them: each has a key, and files on disk say
 * whether it has begun and whether it is done. What was cut off is begun again, so every key is worked at at least
 * once, and nobody works at it twice at the same time or after it is done.
 *
 * `<hash>.<n>.begun` names who began it for the n-th time; it appears whole or not at all (link(2)), and only one
 * process can make the n-th. `<hash>.done` ends it.
 */

import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { ProcessRef, Verdict } from '../identity/identity.ts';
import { processRefSchema } from '../records/schema.ts';
import { codeOf } from '../util/errors.ts';
import { syncFolder } from '../util/sync-files.ts';

/** Finished keys older than this are forgotten, in milliseconds; so are the oldest above the number. */
const KEEP_MS = 30 * 24 * 3600 * 1000;
const KEEP_FILES = 400;
const MAX_BYTES = 16_384;
/** A file on its way to its name is there for a moment; one older than this was left by a writer that was killed. */
const TEMPORARY_MS = 3600 * 1000;
/** How many keys that were begun long ago one pruning asks after: each may mean reading a process. */
const MAX_ASKED = 50;

const begunSchema = z.looseObject({ key: z.string(), by: processRefSchema, at: z.iso.datetime() });

const BEGUN = /^([0-9a-f]{32})\.(\d{1,9})\.begun$/u;
const TEMPORARY = /^\.[0-9a-f]{32}\.(?:\d{1,9}\.begun|done)\.\d+\.[0-9a-f]{12}\.tmp$/u;

export type IdempotencyOutcome =
  /** The work was done here. */
  | 'done'
  /** It was done before. */
  | 'was-done'
  /** A living process is at it, or one of which nothing can be told from here. */
  | 'underway';

export interface IdempotencyOptions {
  readonly folder: string;
  /** This process. */
  readonly self: ProcessRef;
  readonly verify: (ref: ProcessRef) => Promise<Verdict>;
  /** How many files finished keys may have; for tests. */
  readonly keepFiles?: number;
}

export class IdempotencyStore {
  readonly #parts: IdempotencyOptions;

  constructor(parts: IdempotencyOptions) {
    this.#parts = parts;
  }

  /**
   * Does the work of a key, unless it is done or somebody else is at it. When the work throws, it counts as begun by
   * this process: this process may try again, and others once it is gone.
   *
   * @throws what the work throws, and the system's error when the files cannot be written
   */
  async run(key: string, work: () => Promise<void>): Promise<IdempotencyOutcome> {
    const begun = await this.#begin(key);
    if (begun !== 'ours') return begun;
    await work();
    this.finish(key);
    await this.#forgetAbandoned();
    return 'done';
  }

  /** Says that a key needs no work any more, whoever began it. */
  finish(key: string): void {
    this.#put(`${hashOf(key)}.done`, key);
    this.#prune();
  }

  isDone(key: string): boolean {
    return this.#names().includes(`${hashOf(key)}.done`);
  }

  async #begin(key: string): Promise<'ours' | 'was-done' | 'underway'> {
    const hash = hashOf(key);
    for (;;) {
      const names = this.#names();
      if (names.includes(`${hash}.done`)) return 'was-done';
      const last = Math.max(0, ...names.map((name) => turnOf(name, hash)));
      if (last > 0) {
        const by = this.#beginner(join(this.#parts.folder, `${hash}.${last}.begun`));
        const standing = by === null ? 'gone' : await this.#standingOf(by);
        if (standing !== 'gone') return standing;
      }
      // Whoever is first makes this turn; the others look again at who that was.
      if (this.#put(`${hash}.${last + 1}.begun`, key)) return 'ours';
    }
  }

  /** Null when the file says nothing credible: a damaged disk, since it appears whole. Then nobody is at it. */
  #beginner(path: string): ProcessRef | null {
    try {
      const parsed = begunSchema.safeParse(JSON.parse(readFileSync(path, 'utf8').slice(0, MAX_BYTES)));
      return parsed.success ? parsed.data.by : null;
    } catch {
      return null;
    }
  }

  async #standingOf(by: ProcessRef): Promise<'ours' | 'underway' | 'gone'> {
    const { self, verify } = this.#parts;
    const { identity } = self;
    if (by.identity.pid === identity.pid && by.identity.startTime === identity.startTime) return 'ours';
    const { verdict } = await verify(by);
    return verdict === 'gone' || verdict === 'zombie' || verdict === 'reused' || verdict === 'thread'
      ? 'gone'
      : 'underway';
  }

  /** Makes a file with its whole content, on disk before it returns; false when it is there already. */
  #put(name: string, key: string): boolean {
    const { folder, self } = this.#parts;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const temporary = join(folder, `.${name}.${process.pid}.${randomBytes(6).toString('hex')}.tmp`);
    const at = new Date(Date.now()).toISOString();
    const descriptor = openSync(temporary, 'wx', 0o600);
    try {
      writeSync(descriptor, `${JSON.stringify({ key, by: self, at })}\n`);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    try {
      linkSync(temporary, join(folder, name));
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    } finally {
      unlinkSync(temporary);
    }
    syncFolder(folder);
    return true;
  }

  #names(): string[] {
    try {
      return readdirSync(this.#parts.folder);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  /**
   * Forgets keys that were begun longer ago than is kept and that nobody has taken over: whoever would have is gone as
   * well. One whose beginner lives, or of whom nothing can be told, stays.
   */
  async #forgetAbandoned(): Promise<void> {
    const { folder } = this.#parts;
    const names = this.#names();
    const done = new Set(names.flatMap((name) => (name.endsWith('.done') ? [name.slice(0, -'.done'.length)] : [])));
    const begun = new Map<string, string[]>();
    for (const name of names) {
      const hash = BEGUN.exec(name)?.[1];
      if (hash !== undefined && !done.has(hash)) begun.set(hash, [...(begun.get(hash) ?? []), name]);
    }
    const before = Date.now() - KEEP_MS;
    const old = [...begun].filter(([, own]) => own.every((name) => ageOf(join(folder, name)) < before));
    for (const [hash, own] of old.slice(0, MAX_ASKED)) {
      // The latest turn goes last: while it stands, whoever comes asks after the one who began it.
      const turns = own.sort((a, b) => turnOf(a, hash) - turnOf(b, hash));
      const latest = join(folder, turns.at(-1) ?? '');
      const by = this.#beginner(latest);
      if (by !== null && (await this.#standingOf(by)) !== 'gone') continue;
      // Begun anew while it was asked after: then it is somebody's again.
      if (this.#names().some((name) => turnOf(name, hash) > turnOf(turns.at(-1) ?? '', hash))) continue;
      for (const name of turns) unlinkQuietly(join(folder, name));
    }
  }

  /** Forgets what is finished and old, or too much, and what a killed writer left on its way to its name. */
  #prune(): void {
    const { folder } = this.#parts;
    const now = Date.now();
    const names = this.#names();
    for (const name of names) {
      if (TEMPORARY.test(name) && now - ageOf(join(folder, name)) > TEMPORARY_MS) unlinkQuietly(join(folder, name));
    }
    const done = names
      .filter((name) => name.endsWith('.done'))
      .map((name) => ({ hash: name.slice(0, -'.done'.length), at: ageOf(join(folder, name)) }))
      .sort((a, b) => b.at - a.at);
    let files = 0;
    for (const { hash, at } of done) {
      const own = names.filter((name) => name.startsWith(`${hash}.`));
      files += own.length;
      if (files <= (this.#parts.keepFiles ?? KEEP_FILES) && now - at <= KEEP_MS) continue;
      // The word that it is done goes last: what is left after a crash must not look like something to take over.
      for (const name of own.sort()) unlinkQuietly(join(folder, name));
    }
  }
}

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 32);
}

/** Which turn a file of this key began; 0 for any other file. */
function turnOf(name: string, hash: string): number {
  const turn = BEGUN.exec(name);
  return turn !== null && turn[1] === hash ? Number(turn[2]) : 0;
}

/** When a file was written, in milliseconds since the epoch; 0 when it is gone. */
function ageOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function unlinkQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    // Another process prunes as well.
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}
