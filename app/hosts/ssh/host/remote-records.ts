/** Our records on a remote machine, in a folder of this machine and PID namespace: homes may be shared. */
import { posix } from 'node:path';
import { hashOf, parseRecord, type RecordFile, textOf } from '../../../records/files.ts';
import { RECORD_LIMIT_BYTES, type ServerRecord } from '../../../records/schema.ts';
import { RecordChanged, type RecordStore, RecordStuck } from '../../../records/store.ts';
import { remedyFor, WriteFailed } from '../../../util/atomic-write.ts';
import recordsScript from '../remote/records.sh';
import type { FrameSection, Parameters } from './frame.ts';
import type { RemotePlatform } from './platform.ts';
import { RecordNotes } from './record-notes.ts';
import type { RemoteShell, ScriptAnswer } from './shell.ts';

const { basename, dirname, join } = posix;
const DEADLINE_MS = 15_000;

/** Records of other PID namespaces in one list. They are stale, and what is cleared makes room for the next. */
const MAX_OF_OTHERS = 64;
/** How far two clocks may be apart, in milliseconds, before a record of another machine is taken for one of an earlier boot. */
const CLOCKS_APART_MS = 5 * 60 * 1000;

type Place = Pick<RemotePlatform, 'stateDir' | 'observer'>;

/** What the folders of one machine begin with, whatever PID namespace it has. */
function familyOf({ stateDir, observer }: Place): string {
  return join(stateDir, 'remote', `${observer.hostId.slice(0, 20)}-`);
}

/** Rollcall's folder for one machine and PID namespace in a remote account. */
export function machineFolder(place: Place): string {
  return `${familyOf(place)}${place.observer.pidNamespace}`;
}

/** The system's word for what a program said; `unknown` where it said nothing that is known. */
function codeOf(said: string): string {
  const words: readonly (readonly [RegExp, string])[] = [
    [/No space left/u, 'ENOSPC'],
    [/quota/iu, 'EDQUOT'],
    [/Read-only/iu, 'EROFS'],
    [/ermission denied|not permitted/u, 'EACCES'],
    [/Not a directory/u, 'ENOTDIR'],
    [/No such file/u, 'ENOENT'],
    [/File exists/u, 'EEXIST'],
    [/nput\/output|I\/O/u, 'EIO'],
    [/tale file/u, 'ESTALE'],
  ];
  return words.find(([pattern]) => pattern.test(said))?.[1] ?? 'unknown';
}

export class RemoteRecords implements RecordStore {
  readonly folder: string;
  readonly aside: string;
  readonly #shell: RemoteShell;
  readonly #place: Place & Pick<RemotePlatform, 'hostname'>;
  readonly #notes: RecordNotes;
  /** Paths of listed records of other folders, by nonce. */
  #elsewhere: ReadonlyMap<string, string> = new Map();
  /** What the latest list said of writing; asking on its own would cost a round trip for each look. */
  #said: string | null = null;

  /** @param notes told every record that is read or written */
  constructor(shell: RemoteShell, place: Place & Pick<RemotePlatform, 'hostname'>, notes = new RecordNotes()) {
    const base = machineFolder(place);
    this.#shell = shell;
    this.#place = place;
    this.#notes = notes;
    this.folder = join(base, 'records');
    this.aside = join(base, 'set-aside');
  }

  #run(what: string, path: string | null = null, more: Parameters = {}): Promise<ScriptAnswer> {
    const [folder, name] = path === null ? [this.folder, ''] : [dirname(path), basename(path)];
    const family = familyOf(this.#place);
    const parameters = { what, folder, name, limit: RECORD_LIMIT_BYTES, family, most: MAX_OF_OTHERS, ...more };
    return this.#shell.run(recordsScript, parameters, DEADLINE_MS);
  }

  pathOf(nonce: string): string {
    return join(this.folder, `${nonce}.json`);
  }

  async list(): Promise<RecordFile[]> {
    const answer = await this.#run('list');
    this.#said = answer.text('trouble');
    if (answer.has('unreadable')) {
      const problem = 'it could not be read as a folder';
      return [{ path: this.folder, sha256: '', record: null, problem, newer: false }];
    }
    const bootedAt = bootedAtOf(answer);
    const files = this.#filesIn(answer).filter((file) =>
      dirname(file.path) === this.folder ? !this.#isAnothersPlan(file) : this.#isOfEarlierBoot(file, bootedAt),
    );
    this.#elsewhere = new Map(
      files.flatMap(({ path, record }) =>
        record === null || dirname(path) === this.folder ? [] : [[record.nonce, path]],
      ),
    );
    return files;
  }

  /**
   * A container that starts anew has another PID namespace. Whatever this machine ran before its last boot is over, in
   * whichever namespace; what another namespace of this boot runs is that one's affair.
   */
  #isOfEarlierBoot({ record }: RecordFile, bootedAt: number | null): boolean {
    return record !== null && this.#isOfAnotherBoot(record) && !this.#isAnothers(record, bootedAt);
  }

  #isOfAnotherBoot({ server, spawned }: ServerRecord): boolean {
    const ref = server ?? spawned;
    const { hostId, bootId } = this.#place.observer;
    return ref !== null && ref.identity.hostId === hostId && ref.identity.bootId !== bootId;
  }

  /**
   * Machines made from one image have one machine id, and may share a home: what another of them runs is of another boot
   * and not over. It has another name, or was written after this machine had booted. Without a clock, it may have been.
   */
  #isAnothers(record: ServerRecord, bootedAt: number | null): boolean {
    if (!this.#isOfAnotherBoot(record)) return false;
    const { hostname } = record;
    if (bootedAt === null || (hostname !== undefined && hostname !== this.#place.hostname)) return true;
    return Date.parse(record.writtenAt) > bootedAt - (hostname === undefined ? CLOCKS_APART_MS : 0);
  }

  /** A start that such a machine has planned: only that one can tell what comes of it. */
  #isAnothersPlan({ record }: RecordFile): boolean {
    if (record?.hostname === undefined || record.server !== null || record.spawned !== null) return false;
    return record.hostname !== this.#place.hostname;
  }

  async read(path: string): Promise<RecordFile | null> {
    return this.#filesIn(await this.#run('read', path))[0] ?? null;
  }

  #filesIn(answer: ScriptAnswer): RecordFile[] {
    const files: RecordFile[] = [];
    const bootedAt = bootedAtOf(answer);
    let path: string | null = null;
    for (const section of answer.sections) {
      if (section.name === 'trouble' || section.name === 'uptime') continue;
      if (section.name === 'name') path = section.bytes.toString('utf8');
      else if (path !== null) {
        const file = fileFrom(path, section);
        // A second part means that the first was cut short.
        if (files.at(-1)?.path === path) files.pop();
        files.push(file);
        if (file.record !== null) this.#notes.note(file.record, this.#isAnothers(file.record, bootedAt));
      }
    }
    return files;
  }

  async write(written: ServerRecord): Promise<string> {
    const record = { ...written, hostname: this.#place.hostname };
    const path = this.pathOf(record.nonce);
    let answer: ScriptAnswer;
    try {
      answer = await this.#run('write', path, { text: textOf(record) });
    } catch (error) {
      throw new WriteFailed(path, 'link', error);
    }
    const said = answer.text('trouble');
    if (said !== null || !answer.has('done')) throw new WriteFailed(path, codeOf(said ?? ''), new Error(said ?? ''));
    this.#notes.note(record, false);
    return path;
  }

  async remove(nonce: string): Promise<void> {
    const path = this.#elsewhere.get(nonce) ?? this.pathOf(nonce);
    const said = await this.#told(path, 'removed', () => this.#run('remove', path));
    if (said.text('trouble') !== null) throw stuck(path, 'removed', said);
  }

  /** As of the latest list. */
  async problem(): Promise<string | null> {
    if (this.#said === null) return null;
    const code = codeOf(this.#said);
    return `${this.folder} on ${this.#shell.host} cannot be written (${code}). ${remedyFor(code)}`;
  }

  async setAside(path: string, sha256: string, now: number): Promise<string> {
    const stamp = new Date(now).toISOString().replace(/[:.]/gu, '-');
    const target = join(this.aside, `${stamp}-${basename(path)}`);
    const answer = await this.#told(path, 'moved aside', () => this.#run('aside', path, { hash: sha256, target }));
    if (answer.has('changed')) throw new RecordChanged(path);
    if (!answer.has('done')) throw stuck(path, 'moved aside', answer);
    return target;
  }

  /** A lost link leaves the record where it is, or the act done: the next look tells. */
  async #told(path: string, act: 'moved aside' | 'removed', run: () => Promise<ScriptAnswer>): Promise<ScriptAnswer> {
    try {
      return await run();
    } catch (error) {
      throw new RecordStuck(path, act, 'link', error);
    }
  }
}

/**
 * When that machine booted, in milliseconds since the epoch by the clock of this one, which records are dated by; null
 * where it does not tell how long it has run.
 */
function bootedAtOf(answer: ScriptAnswer): number | null {
  const uptime = Number.parseFloat(answer.text('uptime') ?? '');
  return Number.isFinite(uptime) ? Date.now() - uptime * 1000 : null;
}

function stuck(path: string, act: 'moved aside' | 'removed', answer: ScriptAnswer): RecordStuck {
  const said = answer.text('trouble') ?? '';
  return new RecordStuck(path, act, codeOf(said), new Error(said));
}

function fileFrom(path: string, { name, rest, bytes }: FrameSection): RecordFile {
  const none = (problem: string, sha256 = ''): RecordFile => ({ path, sha256, record: null, problem, newer: false });
  switch (name) {
    case 'bytes':
      return { path, sha256: hashOf(bytes), ...parseRecord(bytes.toString('utf8'), basename(path, '.json')) };
    case 'huge':
      return none(`it is larger than ${RECORD_LIMIT_BYTES} bytes`, rest);
    case 'unopened':
      return none(rest === 'denied' ? 'it could not be opened' : 'it is no regular file');
    default:
      return none('it could not be read');
  }
}
