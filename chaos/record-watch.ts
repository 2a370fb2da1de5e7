/** Follows the records on disk, so that none can go away without a word. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseRecord } from '../app/records/files.ts';
import type { ServerRecord } from '../app/records/schema.ts';

export interface Vanished {
  readonly record: ServerRecord;
  /** Seconds since the epoch. */
  readonly at: number;
  /** How many lines the audit had when the record was last seen. */
  readonly auditBefore: number;
}

interface Seen {
  readonly record: ServerRecord;
  readonly auditAt: number;
}

export class RecordWatch {
  readonly #folder: string;
  readonly #seen = new Map<string, Seen>();
  readonly vanished: Vanished[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** @param auditLines how many lines the audit has now */
  poll(auditLines: number): void {
    const present = new Set<string>();
    for (const { nonce, record } of this.read()) {
      present.add(nonce);
      if (record !== null) this.#seen.set(nonce, { record, auditAt: auditLines });
    }
    for (const [nonce, { record, auditAt }] of this.#seen) {
      if (present.has(nonce)) continue;
      this.#seen.delete(nonce);
      this.vanished.push({ record, at: Date.now() / 1000, auditBefore: auditAt });
    }
  }

  /** Every file in the folder; null for one that is no record. */
  read(): { readonly nonce: string; readonly record: ServerRecord | null }[] {
    let names: string[];
    try {
      names = readdirSync(this.#folder).filter((name) => name.endsWith('.json'));
    } catch {
      return []; // not made yet
    }
    return names.flatMap((name) => {
      const nonce = name.slice(0, -'.json'.length);
      try {
        return [{ nonce, record: parseRecord(readFileSync(join(this.#folder, name), 'utf8'), nonce).record }];
      } catch {
        return []; // gone meanwhile
      }
    });
  }
}
