// What a run of tests left behind: processes, mounts, network namespaces and listening sockets. It only looks and tells;
// it ends nothing.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Every process the tests start inherits this; its value names the run. */
export const MARKER = 'ROLLCALL_TEST_RUN';

const SAMPLE_MS = 1000;

/** Reads a file of /proc; null when its process is gone, or it is somebody else's. */
function read(...parts) {
  try {
    return readFileSync(path.join('/proc', ...parts), 'utf8');
  } catch {
    // Processes end while they are being read, and other users' environments are closed to us.
    return null;
  }
}

/** One process as `{pid, ppid, state, start}`, `start` in ticks since boot. */
function processOf(pid) {
  const stat = read(pid, 'stat');
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { pid: Number(pid), state: fields[0], ppid: Number(fields[1]), start: fields[19] };
}

function allProcesses() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(processOf)
    .filter((process) => process !== null);
}

const keyOf = ({ pid, start }) => `${pid}@${start}`;

function commandOf(pid) {
  const words = (read(String(pid), 'cmdline') ?? '').split('\0').filter(Boolean).join(' ');
  return (words || `[${(read(String(pid), 'comm') ?? '?').trim()}]`).slice(0, 200);
}

function mounts() {
  const lines = (read('self', 'mountinfo') ?? '').split('\n').filter(Boolean);
  return new Set(lines.map((line) => line.split(' ')[4]));
}

function networkNamespaces() {
  try {
    return new Set(readdirSync('/run/netns'));
  } catch {
    // The folder exists only once a namespace has been named.
    return new Set();
  }
}

/** Paths of listening Unix sockets. The kernel sets this flag on sockets that accept connections. */
function listeningSockets() {
  const ACCEPTS = 0x10000;
  const paths = new Set();
  for (const line of (read('net', 'unix') ?? '').split('\n').slice(1)) {
    const fields = line.trim().split(/\s+/);
    const flags = Number.parseInt(fields[3] ?? '0', 16);
    if (fields[7] && (flags & ACCEPTS) !== 0) paths.add(fields[7]);
  }
  return paths;
}

/**
 * Watches one run. While it lives, `sample` notes every descendant, so that one which loses its parent and hides its
 * environment is still known at the end.
 */
export class LeakWatch {
  #run;
  #own;
  #temporary;
  #seen = new Set();
  #before;
  #timer;

  /**
   * @param {string} run value of the marker in the environment of this run's processes
   * @param {string} temporary folder in which the run's sockets would be
   * @param {number} own the process whose descendants are watched
   */
  constructor(run, temporary, own = process.pid) {
    this.#run = run;
    this.#temporary = temporary;
    this.#own = own;
    this.#before = {
      processes: new Set(allProcesses().map(keyOf)),
      mounts: mounts(),
      namespaces: networkNamespaces(),
      sockets: listeningSockets(),
    };
  }

  start() {
    this.#timer = setInterval(() => this.sample(), SAMPLE_MS);
    this.#timer.unref();
  }

  /** Notes the descendants that live now. */
  sample() {
    const processes = allProcesses();
    const children = groupByParent(processes);
    const waiting = [...(children.get(this.#own) ?? [])];
    for (let item = waiting.pop(); item; item = waiting.pop()) {
      this.#seen.add(keyOf(item));
      waiting.push(...(children.get(item.pid) ?? []));
    }
  }

  /**
   * Looks once more and names everything left.
   *
   * @returns {string[]} one sentence each; empty when nothing is left
   */
  finish() {
    this.sample();
    clearInterval(this.#timer);
    const found = this.#left().map((item) => {
      const dead = item.state === 'Z' ? ', a zombie' : '';
      return `PID ${item.pid} is still there (parent ${item.ppid}${dead}): ${commandOf(item.pid)}`;
    });
    const added = (now, then, say) => {
      for (const item of now) if (!then.has(item)) found.push(say(item));
    };
    const mine = (folder) => folder.startsWith(`${this.#temporary}/`);
    added(mounts(), this.#before.mounts, (at) => `A mount is left at ${at}`);
    added(networkNamespaces(), this.#before.namespaces, (name) => `The network namespace ${name} is left`);
    added(listeningSockets(), this.#before.sockets, (at) => (mine(at) ? `A socket still listens at ${at}` : null));
    return found.filter((line) => line !== null);
  }

  /** PIDs of the run's processes that are still there. */
  pids() {
    return this.#left().map(({ pid }) => pid);
  }

  #left() {
    const marker = `${MARKER}=${this.#run}`;
    return allProcesses().filter((item) => {
      if (item.pid === this.#own || this.#before.processes.has(keyOf(item))) return false;
      const marked = (read(String(item.pid), 'environ') ?? '').split('\0').includes(marker);
      return marked || this.#seen.has(keyOf(item));
    });
  }
}

function groupByParent(processes) {
  const groups = new Map();
  for (const item of processes) {
    const group = groups.get(item.ppid);
    if (group) group.push(item);
    else groups.set(item.ppid, [item]);
  }
  return groups;
}
