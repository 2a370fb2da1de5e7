import { dirname, join } from 'node:path';
import { codeOrMessage } from '../../util/errors.ts';
import { type ClaudeRecord, isClaudeFile, parseClaude } from './claude.ts';
import { type EntirePointer, type EntireRecord, isEntireFile, parseEntire, parseEntirePointer } from './entire.ts';
import type { ForeignIo } from './io.ts';

export type ForeignRecord = ClaudeRecord | EntireRecord | EntirePointer;

export interface ForeignRecordFile {
  readonly path: string;
  /** The same object as long as the file is unchanged. */
  readonly record: ForeignRecord;
  readonly stamp: string | null;
  /** As its file is now; false where that could not be read, or is half written, and this is what it was before. */
  readonly fresh: boolean;
}

/** How the files of one kind of folder are read. */
export interface FileKind {
  readonly wants: (name: string) => boolean;
  readonly parse: (name: string, text: string) => ForeignRecord | null;
  readonly limitBytes: number;
}

export const CLAUDE_FILES: FileKind = { wants: isClaudeFile, parse: parseClaude, limitBytes: 64 * 1024 };
export const POINTER_FILES: FileKind = { wants: isEntireFile, parse: parseEntirePointer, limitBytes: 64 * 1024 };
/** They hold a list of what a session touched, which grows with it. */
export const ENTIRE_FILES: FileKind = { wants: isEntireFile, parse: parseEntire, limitBytes: 1024 * 1024 };

/** All folders together. */
const FILES_LIMIT = 2000;

/**
 * Reads the files of folders, and remembers what they said: a session must not seem to end since its file was being
 * written, or the system had no descriptor left at the moment.
 */
export class RecordFiles {
  readonly #io: Pick<ForeignIo, 'list' | 'read'>;
  #known = new Map<string, ForeignRecordFile>();
  #next = new Map<string, ForeignRecordFile>();
  #problem: string | null = null;

  constructor(io: Pick<ForeignIo, 'list' | 'read'>) {
    this.#io = io;
  }

  /** What is wrong with the folders of the last pass, in a sentence; null when nothing is. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Begins a pass over all folders. */
  begin(): void {
    this.#next = new Map();
    this.#problem = null;
  }

  /** Reads one folder. Never rejects: what cannot be read now is what it was before. */
  async readFolder(folder: string, kind: FileKind): Promise<ForeignRecordFile[]> {
    const files: ForeignRecordFile[] = [];
    const keep = (file: ForeignRecordFile): void => {
      this.#next.set(file.path, file);
      files.push(file);
    };
    let names: readonly string[];
    try {
      const listed = await this.#io.list(folder, kind.wants, FILES_LIMIT - this.#next.size);
      names = listed.names;
      if (listed.more) this.#problem = `There are more session files in ${folder} than are read. Remove the old ones.`;
    } catch (error) {
      this.#problem = `The session files in ${folder} could not be read (${codeOrMessage(error)}). Make the folder readable for you.`;
      for (const [path, file] of this.#known) {
        if (dirname(path) === folder) keep({ ...file, stamp: null, fresh: false });
      }
      return files;
    }
    for (const name of names) {
      const file = await this.#file(join(folder, name), name, kind);
      if (file !== null) keep(file);
    }
    return files;
  }

  /** Ends the pass: what was not met in it is forgotten. */
  end(): void {
    this.#known = this.#next;
  }

  async #file(path: string, name: string, { parse, limitBytes }: FileKind): Promise<ForeignRecordFile | null> {
    const before = this.#known.get(path);
    try {
      const read = await this.#io.read(path, limitBytes, before?.stamp ?? null);
      if (read === null) return null;
      if (read.same) return before === undefined ? null : { ...before, fresh: true };
      const record = read.text === null ? null : parse(name, read.text);
      if (record !== null) return { path, record, stamp: read.stamp, fresh: true };
    } catch {
      // It stands in the folder and cannot be read: it is what it was, and said to be unknown.
    }
    return before === undefined ? null : { ...before, stamp: null, fresh: false };
  }
}
