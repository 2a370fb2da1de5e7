import type { ProcessInfo } from '../../hosts/host.ts';
import { messageOf } from '../../util/errors.ts';
import { claudeFolder, judgeClaude } from './claude.ts';
import { entireFolder, entireLiveFolder, judgeEntire, judgePointer } from './entire.ts';
import { Fileless, type FilelessTiming } from './fileless.ts';
import type { Place, ProcessReading } from './find-process.ts';
import { type ForeignIo, localIo } from './io.ts';
import { CLAUDE_FILES, ENTIRE_FILES, type ForeignRecordFile, POINTER_FILES, RecordFiles } from './record-files.ts';
import type { ForeignSession } from './session.ts';
import { WatchedFolders } from './watched-folders.ts';

export interface ForeignTiming extends FilelessTiming {
  /** Quiet time after a change before the files are read: a write has several steps. */
  readonly settleMs: number;
  /** Time between two readings, whatever the system tells of changes. */
  readonly pollMs: number;
  /** The same where the system cannot tell of them. */
  readonly unwatchedPollMs: number;
}

const TIMING: ForeignTiming = {
  settleMs: 100,
  pollMs: 10_000,
  unwatchedPollMs: 2000,
  graceMs: 3000,
  showEndedMs: 60_000,
};
/** Repositories that entire's files are looked for in; a person has fewer at work at once. */
const REPOSITORIES_LIMIT = 200;
/** Ids of Claude's that are remembered, long after their files. */
const IDS_LIMIT = 10_000;

export interface ForeignOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly place: Place;
  /** As `Host.inspect`. */
  inspect(pid: number): Promise<ProcessInfo | null>;
  /** `sessions` or `problem` have changed. */
  onChange(): void;
  readonly io?: ForeignIo;
  readonly timing?: ForeignTiming;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/**
 * Follows the sessions that other tools tell of in files on this machine. It reads and inspects, and does nothing else:
 * no file is written, no process signalled. Keeps no process alive. Begins at once; the first reading is an `onChange`
 * when it found anything.
 */
export class ForeignSessions {
  readonly #options: ForeignOptions;
  readonly #timing: ForeignTiming;
  readonly #io: ForeignIo;
  readonly #files: RecordFiles;
  readonly #watches: WatchedFolders;
  #sessions: readonly ForeignSession[] = [];
  #texts: readonly string[] = [];
  #problem: string | null = null;
  /** Folders that the caller named, with the repository of each once it was looked up. */
  #places = new Map<string, string | null>();
  /** Folders of repositories that pointers name. */
  #pointed: ReadonlySet<string> = new Set();
  /** What an ended session's record said: while its file is unchanged, it stays ended. */
  readonly #ended = new WeakMap<ForeignRecordFile['record'], ForeignSession>();
  readonly #idsOfClaude = new Set<string>();
  readonly #fileless = new Fileless();
  #timer: NodeJS.Timeout | undefined;
  #settle: NodeJS.Timeout | undefined;
  #again: NodeJS.Timeout | undefined;
  #running: Promise<void> | null = null;
  #following: Promise<void> | null = null;
  #closed = false;

  constructor(options: ForeignOptions) {
    this.#options = options;
    this.#timing = options.timing ?? TIMING;
    this.#io = options.io ?? localIo;
    this.#files = new RecordFiles(this.#io);
    this.#watches = new WatchedFolders(this.#io, () => this.#changed());
    this.#poll();
  }

  /**
   * One for each id, sorted. The same array while nothing changes, and the same objects. One that was alive is listed as
   * ended before it goes, also when its file went away; other ended ones as long as their files lie there.
   */
  get sessions(): readonly ForeignSession[] {
    return this.#sessions;
  }

  /** Why not all is seen, or later than it could be, in a sentence for a person; null when all is well. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Names the folders that people work in: those of servers and sessions. entire's files are read in their repositories. */
  lookIn(folders: Iterable<string>): void {
    const next = new Map<string, string | null>();
    for (const folder of folders) {
      if (next.size === REPOSITORIES_LIMIT) break;
      next.set(folder, this.#places.get(folder) ?? null);
    }
    const isNew = [...next.keys()].some((folder) => !this.#places.has(folder));
    this.#places = next;
    if (isNew) this.#changed();
  }

  /** Reads all anew. Resolves after a reading that began no earlier than this call. Never rejects. */
  refresh(): Promise<void> {
    if (this.#running === null) return this.#run(false);
    this.#following ??= this.#running.then(() => this.#run(false));
    return this.#following;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#settle);
    clearTimeout(this.#again);
    this.#watches.close();
  }

  #poll(): void {
    clearTimeout(this.#timer);
    if (this.#closed) return;
    const done = this.#running === null ? this.#run(true) : this.#running;
    void done.then(() => {
      if (this.#closed) return;
      const pause = this.#watches.failure === null ? this.#timing.pollMs : this.#timing.unwatchedPollMs;
      this.#timer = setTimeout(() => this.#poll(), pause).unref();
    });
  }

  #changed(): void {
    if (this.#closed || this.#settle !== undefined) return;
    this.#settle = setTimeout(() => {
      this.#settle = undefined;
      void this.refresh();
    }, this.#timing.settleMs).unref();
  }

  #run(renew: boolean): Promise<void> {
    this.#following = null;
    const pass = this.#pass(renew).finally(() => {
      if (this.#running === pass) this.#running = null;
    });
    this.#running = pass;
    return pass;
  }

  async #pass(renew: boolean): Promise<void> {
    if (this.#closed) return;
    const { env, home } = this.#options;
    const claude = claudeFolder(env, home);
    const pointers = entireLiveFolder(env, home);
    const repositories = await this.#repositories();
    // Watched first, read then: a change in between is not missed.
    const watch = (anew: boolean): void => {
      if (!this.#closed) this.#watches.keep(new Set([claude, pointers, ...repositories, ...this.#pointed]), anew);
    };
    watch(renew);
    this.#files.begin();
    const files = await this.#files.readFolder(claude, CLAUDE_FILES);
    const live = await this.#files.readFolder(pointers, POINTER_FILES);
    this.#pointed = new Set(live.flatMap(({ record }) => folderOf(record)).slice(0, REPOSITORIES_LIMIT));
    watch(false);
    for (const folder of new Set([...repositories, ...this.#pointed])) {
      files.push(...(await this.#files.readFolder(folder, ENTIRE_FILES)));
    }
    this.#files.end();
    const own = new Set(files.map(({ record }) => record.id));
    const found = await this.#judged([...files, ...live.filter(({ record }) => !own.has(record.id))]);
    if (!this.#closed) this.#publish(found, this.#files.problem ?? this.#unwatched());
    if (!this.#closed && this.#fileless.waiting) {
      clearTimeout(this.#again);
      this.#again = setTimeout(() => void this.refresh(), this.#timing.graceMs).unref();
    }
  }

  /** Folders of entire's files in the repositories of the places that were named. */
  async #repositories(): Promise<ReadonlySet<string>> {
    const folders = new Set<string>();
    for (const [place, known] of [...this.#places]) {
      // One that is in no repository may be in one later.
      const common = known ?? (await this.#io.commonDir(place).catch(unreadable));
      if (this.#places.has(place)) this.#places.set(place, common);
      if (common !== null) folders.add(entireFolder(common));
    }
    return folders;
  }

  async #judged(files: readonly ForeignRecordFile[]): Promise<ForeignSession[]> {
    const seen = new Map<number, Promise<ProcessReading>>();
    const look = (pid: number): Promise<ProcessReading> => {
      const asked = seen.get(pid) ?? this.#look(pid);
      seen.set(pid, asked);
      return asked;
    };
    const best = new Map<string, ForeignSession>();
    for (const file of files) {
      const ended = this.#ended.get(file.record);
      const session = ended ?? unsure(file, await this.#judge(file, look));
      if (session === null) continue;
      if (session.state === 'ended') this.#ended.set(file.record, session);
      if (session.tool === 'claude') this.#remember(session.id);
      // entire tells of Claude's sessions by Claude's ids, and a moment longer: they would seem to begin again.
      else if (this.#idsOfClaude.has(session.id)) continue;
      const other = best.get(session.id);
      if (other === undefined || isBetter(session, other)) best.set(session.id, session);
    }
    for (const session of await this.#fileless.follow(this.#sessions, best, look, this.#timing)) {
      best.set(session.id, session);
    }
    // A PID that one file proves cannot carry what another, which proves nothing, says of it.
    const proved = new Set([...best.values()].flatMap(({ identity }) => identity?.pid ?? []));
    return [...best.values()]
      .filter(({ tool, state, identity, pid }) => {
        const claims = tool === 'claude' && state === 'unknown' && identity === null;
        return !(claims && pid !== null && proved.has(pid));
      })
      .sort((one, other) => (one.id < other.id ? -1 : 1));
  }

  async #judge(
    { record, path }: ForeignRecordFile,
    look: (pid: number) => Promise<ProcessReading>,
  ): Promise<ForeignSession | null> {
    const { place, now = Date.now } = this.#options;
    switch (record.tool) {
      case 'claude':
        return judgeClaude(record, path, await look(record.pid), place);
      case 'entire':
        // One that names no process is judged without.
        return judgeEntire(record, path, record.owner === null ? ABSENT : await look(record.owner.pid), place, now());
      case 'entire-live':
        return judgePointer(record, path, now());
    }
  }

  async #look(pid: number): Promise<ProcessReading> {
    try {
      const info = await this.#options.inspect(pid);
      return info === null ? ABSENT : { found: 'process', info };
    } catch (error) {
      return { found: 'failed', why: messageOf(error) };
    }
  }

  #remember(id: string): void {
    this.#idsOfClaude.add(id);
    for (const oldest of this.#idsOfClaude) {
      if (this.#idsOfClaude.size <= IDS_LIMIT) break;
      this.#idsOfClaude.delete(oldest);
    }
  }

  #unwatched(): string | null {
    const failure = this.#watches.failure;
    if (failure === null) return null;
    const seconds = this.#timing.unwatchedPollMs / 1000;
    const remedy = REMEDIES.get(failure.code) ?? 'Make it readable for you to have it watched.';
    return `Session files in ${failure.folder} cannot be watched (${failure.code}) and are read every ${seconds} seconds instead. ${remedy}`;
  }

  #publish(found: readonly ForeignSession[], problem: string | null): void {
    const texts = found.map((session) => JSON.stringify(session));
    const before = new Map(this.#texts.map((text, index) => [text, this.#sessions[index]]));
    const same = texts.length === this.#texts.length && texts.every((text, index) => text === this.#texts[index]);
    if (same && problem === this.#problem) return;
    if (!same) {
      this.#sessions = found.map((session, index) => before.get(texts[index] ?? '') ?? session);
      this.#texts = texts;
    }
    this.#problem = problem;
    this.#options.onChange();
  }
}

const ABSENT: ProcessReading = { found: 'absent' };

const REMEDIES: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', 'Raise fs.inotify.max_user_watches to have them watched.'],
  ['EMFILE', 'Raise fs.inotify.max_user_instances to have them watched.'],
]);

/** A folder whose repository cannot be told has no files that could be read. */
function unreadable(): null {
  return null;
}

function folderOf(record: ForeignRecordFile['record']): string[] {
  return record.tool === 'entire-live' && record.commonDir !== null ? [entireFolder(record.commonDir)] : [];
}

/** What was true before a file became unreadable need not be true any more; that its process is gone still is. */
function unsure({ fresh }: ForeignRecordFile, session: ForeignSession | null): ForeignSession | null {
  if (fresh || session === null || session.state === 'ended') return session;
  return { ...session, state: 'unknown', detail: 'its file cannot be read just now' };
}

/** Of two files that tell of one session, the one whose process is proved; then the later one. */
function isBetter(one: ForeignSession, other: ForeignSession): boolean {
  const rank = ({ identity, state }: ForeignSession): number => (identity !== null ? 2 : state === 'ended' ? 0 : 1);
  if (rank(one) !== rank(other)) return rank(one) > rank(other);
  return (one.updatedAt ?? 0) > (other.updatedAt ?? 0);
}
