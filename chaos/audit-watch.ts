/** Reads the audit as it grows, whatever it is called at the moment, and keeps what it says. */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { type AuditLine, auditLineSchema } from '../app/audit/audit.ts';

export interface BadLine {
  readonly text: string;
  /** When it was read; seconds since the epoch. */
  readonly at: number;
}

export class AuditWatch {
  readonly #names: readonly string[];
  /** How far each file was read, by inode, and the half line at its end. */
  readonly #read = new Map<number, { offset: number; rest: string }>();
  readonly lines: AuditLine[] = [];
  readonly bad: BadLine[] = [];

  constructor(auditFile: string) {
    this.#names = [auditFile.replace(/\.jsonl$/u, '.1.jsonl'), `${auditFile}.saved`, auditFile];
  }

  /** @returns the lines that are new */
  poll(): AuditLine[] {
    const before = this.lines.length;
    for (const name of this.#names) {
      if (statSync(name, { throwIfNoEntry: false })?.isFile() === true) this.#take(name);
    }
    return this.lines.slice(before);
  }

  #take(name: string): void {
    let descriptor: number;
    try {
      descriptor = openSync(name, 'r');
    } catch {
      return; // renamed meanwhile: the next poll reads it
    }
    try {
      const { ino, size } = fstatSync(descriptor);
      const state = this.#read.get(ino) ?? { offset: 0, rest: '' };
      this.#read.set(ino, state);
      const bytes = Buffer.alloc(Math.max(0, size - state.offset));
      state.offset += readSync(descriptor, bytes, 0, bytes.length, state.offset);
      const parts = (state.rest + bytes.toString('utf8')).split('\n');
      state.rest = parts.pop() ?? '';
      for (const part of parts) if (part !== '') this.#line(part);
    } finally {
      closeSync(descriptor);
    }
  }

  #line(text: string): void {
    try {
      const parsed = auditLineSchema.safeParse(JSON.parse(text));
      if (parsed.success) {
        this.lines.push(parsed.data);
        return;
      }
    } catch {
      // Told below, like a line of another form.
    }
    this.bad.push({ text, at: Date.now() / 1000 });
  }
}
