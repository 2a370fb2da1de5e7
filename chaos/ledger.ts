/** The truth about every process of this run: who had which PID, and when. Kept by watching, apart from the product. */
import { argvOf, environOf, isZombie, lives, pids, type Stat, statOf } from './proc.ts';

export type Role =
  /** This run's own: driver, spawner, first process, strace. */
  | 'harness'
  /** Must never be signalled, whatever its PID meant before. */
  | 'stranger'
  /** What a server is bound to; a stranger to everybody as well. */
  | 'owner'
  | 'app'
  | 'guard'
  | 'cli'
  /** Carries the nonce of a start of ours: a server, its wrapper. */
  | 'server'
  /** Carries a server's mark. */
  | 'child'
  /** A server that nobody here started, and whose launcher is gone: may be reaped. */
  | 'leaked'
  /** The same under a living launcher: must be left alone. */
  | 'owned'
  | 'unknown';

export interface Being {
  readonly pid: number;
  readonly ticks: string;
  /** Inode of its pidfd, of a stranger; null where it was not asked for. */
  handle: string | null;
  role: Role;
  /** The role was told, not read. */
  registered: boolean;
  /** What it is, for people. */
  label: string;
  /** Nonce of a server of ours, PID of the server whose mark it carries. */
  nonce: string | null;
  markOf: number | null;
  /** Seconds since the epoch, by this process's clock; `to` is null while it was still there at the last look. */
  readonly from: number;
  to: number | null;
  zombieSince: number | null;
  /** This run has ended it, or does so now. */
  retired: boolean;
  parent: number;
}

export interface Programs {
  readonly app: string;
  readonly guard: string;
  readonly cli: string;
}

/** A process is read anew for this long, since it may become another program; seconds. */
const YOUNG_S = 3;

export const now = (): number => Date.now() / 1000;

export class ChaosLedger {
  readonly #programs: Programs;
  readonly #beings = new Map<string, Being>();
  readonly #current = new Map<number, Being>();
  /** Every being that a PID has meant, oldest first. */
  readonly #ofPid = new Map<number, Being[]>();

  constructor(programs: Programs) {
    this.#programs = programs;
  }

  /** Notes what this run itself has started; its role is final. */
  register(pid: number, ticks: string, role: Role, label: string): Being {
    const being = this.#known(pid, ticks, now() - 0.001);
    being.role = role;
    being.registered = true;
    being.label = label;
    return being;
  }

  who(pid: number, ticks: string): Being | null {
    return this.#beings.get(`${pid}:${ticks}`) ?? null;
  }

  /** Whoever had the PID at a time, in seconds since the epoch. */
  at(pid: number, time: number): Being[] {
    return (this.#ofPid.get(pid) ?? []).filter(({ from, to }) => from <= time && (to === null || time <= to));
  }

  /** Everything of a role that lives as of now. */
  living(...roles: readonly Role[]): Being[] {
    return [...this.#current.values()].filter(
      ({ role, pid, ticks }) => (roles.length === 0 || roles.includes(role)) && lives(pid, ticks),
    );
  }

  zombies(): Being[] {
    return [...this.#current.values()].filter(({ zombieSince }) => zombieSince !== null);
  }

  get size(): number {
    return this.#beings.size;
  }

  /** Everything that was ever there, as lines of JSON. */
  lines(): string {
    return [...this.#beings.values()].map((being) => `${JSON.stringify(being)}\n`).join('');
  }

  /** Reads the process table. */
  scan(): void {
    const time = now();
    const seen = new Set<number>();
    for (const pid of pids()) {
      const stat = statOf(pid);
      if (stat === null) continue;
      seen.add(pid);
      const being = this.#known(pid, stat.ticks, time);
      being.parent = stat.ppid;
      if (isZombie(stat)) being.zombieSince ??= time;
      else if (!being.registered && (being.role === 'unknown' || time - being.from < YOUNG_S)) {
        this.#classify(being, stat);
      }
    }
    for (const [pid, being] of this.#current) {
      if (seen.has(pid)) continue;
      being.to = time;
      this.#current.delete(pid);
    }
  }

  #known(pid: number, ticks: string, time: number): Being {
    const key = `${pid}:${ticks}`;
    const known = this.#beings.get(key);
    if (known !== undefined) return known;
    const before = this.#current.get(pid);
    if (before !== undefined) before.to = time;
    const being: Being = {
      pid,
      ticks,
      handle: null,
      role: 'unknown',
      registered: false,
      label: '',
      nonce: null,
      markOf: null,
      from: time,
      to: null,
      zombieSince: null,
      retired: false,
      parent: 0,
    };
    this.#beings.set(key, being);
    this.#current.set(pid, being);
    const row = this.#ofPid.get(pid);
    if (row === undefined) this.#ofPid.set(pid, [being]);
    else row.push(being);
    return being;
  }

  #classify(being: Being, { ppid }: Stat): void {
    const { pid, ticks } = being;
    const argv = argvOf(pid);
    const environ = environOf(pid);
    // It went away between two reads: what was read may be another's.
    if (statOf(pid)?.ticks !== ticks || argv.length === 0) return;
    being.label = argv.join(' ').slice(0, 160);
    being.nonce = environ.get('ROLLCALL_NONCE') ?? null;
    const mark = environ.get('OPENCODE_PID');
    being.markOf = mark === undefined ? null : Number(mark);
    if (argv[0] === 'strace') being.role = 'harness';
    else if (argv.includes(this.#programs.app)) being.role = 'app';
    else if (argv.includes(this.#programs.guard)) being.role = 'guard';
    else if (argv.includes(this.#programs.cli)) being.role = 'cli';
    else if (being.markOf !== null) being.role = 'child';
    else if (being.nonce !== null) being.role = 'server';
    else if (ppid === 1 && argv[0]?.endsWith('first-process') === true) being.role = 'harness';
  }
}
