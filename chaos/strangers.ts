/** Innocent processes that write down every signal they get, many of them on PIDs that somebody else just had. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Being, ChaosLedger, Role } from './ledger.ts';
import { statOf } from './proc.ts';

export const PYTHON = '/usr/bin/python3';
/** How long a number is waited for, in milliseconds: as long as an ending may take. */
const SPIN_MS = 8000;

export interface Wish {
  /** The PID it must have; any when left out. */
  readonly pid?: number;
  readonly role?: Role;
  readonly label: string;
  readonly uid?: number;
  readonly cwd?: string;
  /** Another program than the plain witness. */
  readonly program?: string;
  readonly argv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

type Said = {
  readonly pid?: number;
  readonly ticks?: string;
  /** Inode of its pidfd: two processes that had one PID within one tick differ by it, where the kernel has pidfs. */
  readonly handle?: string;
  readonly taken?: number;
  readonly missed?: number;
  readonly failed?: string;
};

/** A stranger that felt something. */
export interface Felt {
  readonly being: Being;
  readonly what: string;
}

export class Strangers {
  readonly #ledger: ChaosLedger;
  readonly #logs: string;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (said: Said) => void>();
  readonly #all: Being[] = [];
  readonly #told = new Set<string>();
  #asked = 0;
  readonly counts = { started: 0, onChosenPid: 0, tooLate: 0, threads: 0, threadsTooLate: 0, sameTick: 0 };
  /** Why there can be no more of them; null while there can. */
  problem: string | null = null;

  /**
   * @param script the spawner's source
   * @param logs folder that everybody may write to
   * @param doomed named pipe for PIDs that end at once
   */
  constructor(ledger: ChaosLedger, script: string, logs: string, doomed: string) {
    this.#ledger = ledger;
    this.#logs = logs;
    this.#child = spawn(PYTHON, ['-u', script], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { PATH: '/usr/bin:/bin', CHAOS_LOGS: logs, CHAOS_DOOMED: doomed, PYTHONDONTWRITEBYTECODE: '1' },
    });
    this.#child.once('exit', (code, signal) => {
      this.problem = `the spawner of strangers ended (${signal ?? code})`;
      for (const done of this.#waiting.values()) done({ failed: this.problem });
    });
    this.#child.stdin?.on('error', () => undefined);
    if (this.#child.stdout === null) throw new Error('the spawner has no output');
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#heard(line));
    const { pid } = this.#child;
    const stat = pid === undefined ? null : statOf(pid);
    if (pid === undefined || stat === null) throw new Error(`${PYTHON} could not be started`);
    ledger.register(pid, stat.ticks, 'harness', 'spawner');
  }

  get living(): readonly Being[] {
    return this.#all.filter(({ retired }) => !retired);
  }

  /** Null when its PID did not become free in time. */
  async start(wish: Wish): Promise<Being | null> {
    const { role = 'stranger', label, ...rest } = wish;
    const said = await this.#ask({ op: 'spawn', spinMs: wish.pid === undefined ? 0 : SPIN_MS, ...rest });
    if (wish.pid !== undefined) return this.#occupied(said, wish);
    if (said.pid === undefined) return null;
    this.counts.started += 1;
    return this.#note(said, role, label);
  }

  /** A stranger one of whose threads has the PID as its number, as soon as that is free. */
  async thread(pid: number): Promise<void> {
    const said = await this.#ask({ op: 'thread', pid, spinMs: SPIN_MS });
    if (said.pid !== undefined) this.#note(said, 'stranger', `has thread ${pid}`);
  }

  /**
   * Sends a signal to exactly this process, which is none of the strangers.
   *
   * @param then who takes the PID in the same moment; the signal must be one that ends
   * @returns whether it was sent
   */
  async strike(target: Being, signal: number, then?: Omit<Wish, 'pid'>): Promise<boolean> {
    const { pid, ticks } = target;
    const occupy = then === undefined ? {} : { occupy: { ...then, spinMs: SPIN_MS } };
    const said = await this.#ask({ op: 'strike', pid, ticks, signal, ...occupy });
    if (said.missed !== undefined || said.failed !== undefined) return false;
    if (then !== undefined) this.#occupied(said, then);
    return true;
  }

  /** @param then who takes the PID in the same moment */
  async retire(being: Being, then?: Omit<Wish, 'pid'>): Promise<void> {
    if (being.retired) return;
    being.retired = true;
    const occupy = then === undefined ? {} : { occupy: { ...then, spinMs: SPIN_MS } };
    const said = await this.#ask({ op: 'end', pid: being.pid, ...occupy });
    if (then !== undefined) this.#occupied(said, then);
  }

  #occupied(said: Said, { role = 'stranger', label }: Omit<Wish, 'pid'>): Being | null {
    if (said.pid === undefined) {
      this.counts.tooLate += 1;
      return null;
    }
    this.counts.started += 1;
    this.counts.onChosenPid += 1;
    return this.#note(said, role, label);
  }

  /** Everything that a stranger felt and was not told before. */
  felt(): Felt[] {
    const found: Felt[] = [];
    const tell = (being: Being, what: string): void => {
      const key = `${being.pid}:${being.ticks}:${what}`;
      if (this.#told.has(key)) return;
      this.#told.add(key);
      found.push({ being, what });
    };
    const logs = new Set(readdirSync(this.#logs));
    for (const being of this.#all) {
      const log = `${being.pid}-${being.ticks}`;
      const text = logs.has(log) ? readFileSync(join(this.#logs, log), 'utf8') : '';
      for (const line of text.split('\n').slice(0, -1)) {
        const [signal = '', from = ''] = line.split(' ');
        tell(being, `signal ${signal} from PID ${from}`);
      }
      if (being.retired) continue;
      const stat = statOf(being.pid);
      // Retired meanwhile, or gone without our doing.
      if (stat === null || stat.ticks !== being.ticks || stat.state === 'Z') tell(being, 'its end');
      else if (stat.state === 'T') tell(being, 'a stop');
    }
    return found;
  }

  /** Ends the spawner; its witnesses go with the namespace. */
  close(): void {
    this.#child.stdin?.end();
  }

  #note({ pid, ticks, handle }: Said, role: Role, label: string): Being {
    if (pid === undefined || ticks === undefined || handle === undefined) {
      throw new Error(`the spawner told too little of ${label}`);
    }
    const before = this.#ledger.who(pid, ticks);
    if (before !== null && before.role !== 'unknown') this.counts.sameTick += 1;
    const being = this.#ledger.register(pid, ticks, role, label);
    being.handle = handle;
    this.#all.push(being);
    return being;
  }

  #ask(request: Record<string, unknown>): Promise<Said> {
    this.#asked += 1;
    const id = this.#asked;
    if (this.problem !== null) return Promise.resolve({ failed: this.problem });
    return new Promise((done) => {
      this.#waiting.set(id, done);
      this.#child.stdin?.write(`${JSON.stringify({ id, ...request })}\n`);
    });
  }

  #heard(line: string): void {
    const said = JSON.parse(line) as Said & { id?: number; doomed?: number; thread?: number; hit?: boolean };
    if (said.id !== undefined) {
      this.#waiting.get(said.id)?.(said);
      this.#waiting.delete(said.id);
    } else if (said.thread !== undefined) {
      if (said.hit === true) this.counts.threads += 1;
      else this.counts.threadsTooLate += 1;
    } else if (said.doomed !== undefined && said.pid !== undefined) {
      this.counts.started += 1;
      this.counts.onChosenPid += 1;
      this.#note(said, 'stranger', 'took the PID of a wrapper that ended at once');
    }
  }
}
