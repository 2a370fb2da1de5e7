/** What befalls the state folder for a while. Everything is undone before anything is judged. */

import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Paths } from '../app/config/paths.ts';
import { codeOf } from '../app/util/errors.ts';
import type { Random } from './random.ts';

export type Plague = 'read-only' | 'full' | 'audit-is-a-folder';
export const PLAGUES: readonly Plague[] = ['read-only', 'full', 'audit-is-a-folder'];

const WOUNDS = ['torn', 'filled with NULs', 'deleted', 'empty', 'garbage', 'of a later version', 'huge'] as const;

export class Harm {
  readonly #paths: Paths;
  readonly #active = new Set<Plague>();
  /** Nonces of records that this run has harmed itself. */
  readonly wounded = new Set<string>();
  /** Plagues so far, for judging what could not be written meanwhile; seconds since the epoch. */
  readonly spells: { readonly plague: Plague; readonly from: number; to: number | null }[] = [];

  constructor(paths: Paths) {
    this.#paths = paths;
  }

  get active(): ReadonlySet<Plague> {
    return this.#active;
  }

  begin(plague: Plague): boolean {
    if (this.#active.size > 0) return false;
    const { stateDir, auditFile } = this.#paths;
    this.#active.add(plague);
    this.spells.push({ plague, from: Date.now() / 1000, to: null });
    if (plague === 'read-only') {
      // Made elsewhere and moved there whole: nobody can open something through it while it still may be written.
      const veil = `${stateDir}.read-only`;
      mkdirSync(veil, { recursive: true });
      execFileSync('mount', ['--bind', stateDir, veil]);
      execFileSync('mount', ['-o', 'remount,bind,ro', veil]);
      execFileSync('mount', ['--move', veil, stateDir]);
    } else if (plague === 'full') {
      this.#fill();
    } else {
      if (existsSync(auditFile)) renameSync(auditFile, `${auditFile}.saved`);
      mkdirSync(auditFile);
    }
    return true;
  }

  end(plague: Plague): void {
    if (!this.#active.delete(plague)) return;
    const spell = this.spells.findLast((one) => one.plague === plague);
    if (spell !== undefined) spell.to = Date.now() / 1000;
    const { stateDir, auditFile } = this.#paths;
    if (plague === 'read-only') execFileSync('umount', ['-l', stateDir]);
    else if (plague === 'full') rmSync(this.#ballast, { force: true });
    else {
      rmdirSync(auditFile);
      if (existsSync(`${auditFile}.saved`)) renameSync(`${auditFile}.saved`, auditFile);
    }
  }

  endAll(): void {
    for (const plague of [...this.#active]) this.end(plague);
  }

  /** Harms one record, as a crash or a careless program would. @returns what was done */
  wound(random: Random): string | null {
    if (this.#active.size > 0) return null;
    const { recordsDir } = this.#paths;
    const name = random.pick(
      existsSync(recordsDir) ? readdirSync(recordsDir).filter((one) => one.endsWith('.json')) : [],
    );
    const wound = random.pick(WOUNDS);
    if (name === undefined || wound === undefined) return null;
    const path = join(recordsDir, name);
    try {
      const { size } = statSync(path);
      this.wounded.add(name.slice(0, -'.json'.length));
      switch (wound) {
        case 'torn':
          truncateSync(path, random.between(1, Math.max(1, size - 1)));
          break;
        case 'filled with NULs':
          writeFileSync(path, Buffer.alloc(size));
          break;
        case 'deleted':
          unlinkSync(path);
          break;
        case 'empty':
          truncateSync(path, 0);
          break;
        case 'garbage':
          writeFileSync(path, '{"version":2,"nonce":"../../etc","server":{"identity":{"pid":1}}}');
          break;
        case 'of a later version':
          writeFileSync(path, readFileSync(path, 'utf8').replace(/"version": \d+/u, '"version": 99'));
          break;
        case 'huge':
          appendFileSync(path, Buffer.alloc(200_000, 0x20));
          break;
      }
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null;
      throw error;
    }
    return `${name} ${wound}`;
  }

  get #ballast(): string {
    return join(this.#paths.stateDir, 'ballast');
  }

  #fill(): void {
    const { bavail, bsize } = statfsSync(this.#paths.stateDir);
    try {
      writeFileSync(this.#ballast, Buffer.alloc(bavail * bsize));
    } catch (error) {
      // Somebody wrote meanwhile: then it is full as well.
      if (codeOf(error) !== 'ENOSPC') throw error;
    }
  }
}
