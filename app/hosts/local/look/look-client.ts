import { performance } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import { type Look, LookFailed, type LookRequest, type ProcessInfo, ReadFailed } from '../../host.ts';
import { BEAT, type FromWorker, type ToWorker, type WorkerStart } from './look-protocol.ts';
import type { Looker, LookingPlace } from './looker.ts';
import { endWithoutJoining } from './stuck-exit.ts';

export interface WorkerLookerOptions {
  /** The bundled `look-worker`. */
  readonly workerUrl: URL;
  /** A whole look takes no longer than this once a thread is there to take it, in milliseconds. */
  readonly deadlineMs?: number;
  /** A single read that takes longer is taken to block. */
  readonly stallMs?: number;
}

const DEADLINE_MS = 2000;
const STALL_MS = 500;
/** Loading a thread takes a tenth of a second, on a machine in distress far longer. */
const START_LIMIT_MS = 15_000;
const WATCH_MS = 100;
/** Threads that hang in a read cannot be ended; no more than these are ever left behind. */
const STUCK_LIMIT = 2;
/** A PID whose reading blocked is left out this long, doubled each time, up to the longest. */
const FIRST_SKIP_MS = 10_000;
const MAX_SKIP_MS = 600_000;

interface Skipped {
  readonly until: number;
  readonly lastedMs: number;
}

interface Pending {
  readonly ask: ToWorker;
  /** Deadline on the monotonic clock; null until a thread is there to answer. */
  until: number | null;
  readonly resolve: (answer: FromWorker) => void;
  readonly reject: (error: Error) => void;
}

/** Without `Omit` over a union, which would merge its members. */
type Question =
  | { readonly ask: 'port'; readonly port: number }
  | { readonly ask: 'look'; readonly request: LookRequest }
  | { readonly ask: 'inspect'; readonly pid: number };

/**
 * Takes looks in a worker thread and watches it. Reading the arguments of a process that hangs in the kernel can
 * block without end, and a thread in such a read cannot be interrupted: it is then left behind, a new one is
 * started that passes over that process, and the look is completed without it.
 */
class WorkerLooker implements Looker {
  readonly #options: Required<WorkerLookerOptions>;
  readonly #stuck = new Map<Worker, number>();
  readonly #skipped = new Map<number, Skipped>();
  readonly #pending = new Map<number, Pending>();
  #place: LookingPlace | null = null;
  #worker: Worker | null = null;
  #beat = new Int32Array(new SharedArrayBuffer(4 * BEAT.length));
  #lastStep = 0;
  #lastMoved = 0;
  #startedAt = 0;
  #ready = false;
  #nextId = 1;
  #watchdog: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: WorkerLookerOptions) {
    this.#options = { deadlineMs: DEADLINE_MS, stallMs: STALL_MS, ...options };
  }

  async start(place: LookingPlace): Promise<void> {
    this.#place = place;
  }

  async look(request: LookRequest): Promise<Look> {
    const answer = await this.#ask({ ask: 'look', request });
    if (answer.answer !== 'look') throw new LookFailed('the reading thread gave another answer than was asked for');
    return answer.look;
  }

  async inspect(pid: number): Promise<ProcessInfo | null> {
    if (this.#skips().includes(pid)) throw new ReadFailed(pid, 'reading it does not return');
    const answer = await this.#ask({ ask: 'inspect', pid });
    if (answer.answer !== 'inspect') throw new LookFailed('the reading thread gave another answer than was asked for');
    return answer.info;
  }

  async portHolder(port: number): Promise<ProcessInfo | 'unreadable' | null> {
    const answer = await this.#ask({ ask: 'port', port });
    if (answer.answer !== 'port') throw new LookFailed('the reading thread gave another answer than was asked for');
    return answer.holder;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#failAll(new LookFailed('Rollcall is closing'));
    const worker = this.#worker;
    this.#worker = null;
    if (this.#watchdog !== null) clearInterval(this.#watchdog);
    this.#watchdog = null;
    await worker?.terminate();
  }

  #ask(question: Question): Promise<FromWorker> {
    if (this.#closed) return Promise.reject(new LookFailed('Rollcall is closing'));
    const id = this.#nextId;
    this.#nextId += 1;
    const ask: ToWorker = question.ask === 'look' ? { ...question, id, skip: this.#skips() } : { ...question, id };
    return new Promise<FromWorker>((resolve, reject) => {
      this.#pending.set(id, { ask, until: null, resolve, reject });
      try {
        this.#running().postMessage(ask);
        if (this.#ready) this.#startDeadlines();
      } catch (error) {
        this.#pending.delete(id);
        reject(error instanceof Error ? error : new LookFailed(String(error)));
        return;
      }
      this.#watch();
    });
  }

  #running(): Worker {
    if (this.#worker !== null) return this.#worker;
    if (this.#place === null) throw new LookFailed('the looker has not been started');
    if (this.#stuck.size >= STUCK_LIMIT) {
      throw new LookFailed(
        `${this.#stuck.size} reading threads hang on PIDs ${[...this.#stuck.values()].join(' and ')}`,
      );
    }
    const shared = new SharedArrayBuffer(4 * BEAT.length);
    const start: WorkerStart = { place: this.#place, beat: shared };
    const worker = new Worker(this.#options.workerUrl, {
      workerData: start,
      // Pidfds are opened by the C library and closed by Node, which would warn of each as unknown to it.
      trackUnmanagedFds: false,
    });
    // A thread at rest must not keep a command from ending.
    worker.unref();
    worker.on('message', (answer: FromWorker) => this.#answered(answer));
    worker.on('error', (error) => this.#ended(worker, error));
    worker.on('exit', () => this.#ended(worker, null));
    this.#beat = new Int32Array(shared);
    this.#lastStep = 0;
    this.#lastMoved = performance.now();
    this.#startedAt = this.#lastMoved;
    this.#ready = false;
    this.#worker = worker;
    return worker;
  }

  #startDeadlines(): void {
    const until = performance.now() + this.#options.deadlineMs;
    for (const pending of this.#pending.values()) pending.until ??= until;
  }

  #answered(answer: FromWorker): void {
    if (answer.answer === 'ready') {
      this.#ready = true;
      this.#startDeadlines();
      return;
    }
    const pending = this.#pending.get(answer.id);
    if (pending === undefined) return;
    this.#pending.delete(answer.id);
    if (answer.answer === 'failed') pending.reject(new LookFailed(answer.why));
    else if (answer.answer === 'unreadable') pending.reject(new ReadFailed(answer.pid, answer.why));
    else pending.resolve(answer);
  }

  #ended(worker: Worker, error: Error | null): void {
    this.#stuck.delete(worker);
    if (this.#worker !== worker) return;
    this.#worker = null;
    this.#failAll(new LookFailed(error === null ? 'the reading thread ended' : error.message, error));
  }

  #failAll(error: Error): void {
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }

  /** PIDs to pass over now: those that a left-behind thread still hangs on, and those not yet due again. */
  #skips(): number[] {
    const now = performance.now();
    const due = [...this.#skipped].filter(([, { until }]) => until > now).map(([pid]) => pid);
    return [...new Set([...due, ...this.#stuck.values()])];
  }

  #watch(): void {
    if (this.#watchdog !== null) return;
    this.#lastMoved = performance.now();
    this.#watchdog = setInterval(() => this.#check(), WATCH_MS);
  }

  #check(): void {
    if (this.#pending.size === 0) {
      if (this.#watchdog !== null) clearInterval(this.#watchdog);
      this.#watchdog = null;
      return;
    }
    const now = performance.now();
    const step = Atomics.load(this.#beat, BEAT.step);
    const pid = Atomics.load(this.#beat, BEAT.pid);
    if (step !== this.#lastStep || pid === 0) {
      this.#lastStep = step;
      this.#lastMoved = now;
    }
    if (now - this.#lastMoved >= this.#options.stallMs) this.#abandon(pid, now);
    for (const [id, { until, reject }] of this.#pending) {
      if ((until ?? this.#startedAt + START_LIMIT_MS) > now) continue;
      this.#pending.delete(id);
      reject(
        new LookFailed(
          until === null ? 'the reading thread does not start' : `it took longer than ${this.#options.deadlineMs} ms`,
        ),
      );
    }
  }

  /** Leaves a thread behind that hangs in reading a PID, and asks a new one again for what is still wanted. */
  #abandon(pid: number, now: number): void {
    const worker = this.#worker;
    if (worker === null) return;
    this.#worker = null;
    this.#stuck.set(worker, pid);
    endWithoutJoining(() => this.#stuck.size > 0);
    // It ends by itself once the read returns. Asking for the end makes Node wait for it, so that is undone.
    void worker.terminate();
    worker.unref();
    const lastedMs = Math.min(MAX_SKIP_MS, (this.#skipped.get(pid)?.lastedMs ?? FIRST_SKIP_MS / 2) * 2);
    this.#skipped.set(pid, { until: now + lastedMs, lastedMs });
    for (const [id, pending] of [...this.#pending]) {
      if (pending.ask.ask === 'inspect' && pending.ask.pid === pid) {
        this.#pending.delete(id);
        pending.reject(new ReadFailed(pid, 'reading it does not return'));
        continue;
      }
      try {
        this.#running().postMessage(pending.ask.ask === 'look' ? { ...pending.ask, skip: this.#skips() } : pending.ask);
      } catch (error) {
        this.#pending.delete(id);
        pending.reject(error instanceof Error ? error : new LookFailed(String(error)));
      }
    }
  }
}

/** Looks in a worker thread, guarded against reads that do not return. */
export function workerLooker(options: WorkerLookerOptions): Looker {
  return new WorkerLooker(options);
}
