/** Fresh verdicts on recorded processes of a remote machine. Those asked for in one turn share one round trip. */

import type { Observer, ProcessName, ProcessRef, Verdict } from '../../../identity/identity.ts';
import { judge } from '../../../identity/judge.ts';
import { refusePid } from '../../../identity/refuse.ts';
import { messageOf } from '../../../util/errors.ts';
import { TICKS_PER_SECOND } from '../../local/look/process-table.ts';
import { type ProcStat, parseStat } from '../../local/procfs/stat.ts';
import { isFinished } from '../../process-info.ts';
import observeScript from '../remote/observe.sh';
import psScript from '../remote/ps.sh';
import { listedSeen, type SeenProcess } from './listing.ts';
import type { RemotePlatform } from './platform.ts';
import type { RemoteShell, ScriptAnswer } from './shell.ts';

const DEADLINE_MS = 15_000;
/** PIDs in one script; more are observed one script after the other. */
const BATCH = 200;

function nameFrom(pid: number, stat: ProcStat | null, uptime: number): ProcessName {
  if (stat === null) return { pid, name: `PID ${pid}`, startedAt: null };
  const age = uptime - Number(stat.startTicks) / TICKS_PER_SECOND;
  return { pid, name: stat.comm, startedAt: Number.isFinite(age) ? Math.round(Date.now() - age * 1000) : null };
}

const statIn = (answer: ScriptAnswer, name: string, pid: number): ProcStat | null =>
  parseStat(answer.bytes(name, String(pid)) ?? Buffer.alloc(0));

/** Rows of `PATH value value` by the PID that the path begins with. */
function rowOf(text: string | null, pid: number): string[] | null {
  const row = text?.split('\n').find((line) => line.startsWith(`${pid}/`));
  return row?.split(' ') ?? null;
}

function hashOf(text: string | null, pid: number): string | null {
  const row = text?.split('\n').find((line) => line.slice(66).startsWith(`${pid}/`));
  const hash = row?.slice(0, 64) ?? '';
  return /^[0-9a-f]{64}$/u.test(hash) ? hash : null;
}

function nonceOf(bytes: Buffer | null, pid: number): string | undefined {
  const record = bytes
    ?.toString('latin1')
    .split('\0')
    .find((each) => each.startsWith(`${pid}/`));
  return record?.slice(record.indexOf('=') + 1);
}

/** Where the answer was given from: an account may be reached again after a reboot, or in another container. */
export function placeOf(answer: ScriptAnswer, { observer }: Pick<RemotePlatform, 'observer'>): Observer {
  const namespace = answer
    .text('executables')
    ?.split('\n')
    .find((line) => line.startsWith('self/ns/pid '))
    ?.split(' ')[2];
  return {
    ...observer,
    bootId: answer.text('boot') || observer.bootId,
    pidNamespace: namespace ?? observer.pidNamespace,
  };
}

/**
 * What an answer of `observe.sh`, `signal.sh` or `signal.py` says of a PID. Pure.
 *
 * @param settled the script read the start time a second time at its end, in `after`
 */
export function seenIn(answer: ScriptAnswer, pid: number, observer: Observer, settled: boolean): SeenProcess {
  const hidden = answer.text('hidden', String(pid));
  if (hidden !== null) {
    if (hidden.includes('permitted')) return { found: 'denied', why: 'it is alive, but hidden from this user' };
    if (hidden.includes('signalled')) return { found: 'failed', why: 'it is alive, but could not be read' };
    return { found: 'absent' };
  }
  if (answer.bytes('stat', String(pid)) === null) return { found: 'absent' };
  const stat = statIn(answer, 'stat', pid);
  if (stat === null) return { found: 'failed', why: 'its stat line could not be understood' };
  const uptime = Number.parseFloat(answer.text('uptime') ?? '');
  if (settled) {
    const after = statIn(answer, 'after', pid);
    if (after === null) return { found: 'absent' };
    if (after.startTicks !== stat.startTicks) return { found: 'failed', why: 'it changed while it was read' };
  }
  const [tgid, uid] = (answer.text('status', String(pid)) ?? '').split(' ').map(Number);
  if (tgid === undefined || uid === undefined || !Number.isInteger(tgid) || !Number.isInteger(uid)) {
    return { found: 'failed', why: 'its status could not be read' };
  }
  if (tgid !== pid) return { found: 'thread', of: nameFrom(tgid, statIn(answer, 'leader', pid), uptime) };
  const file = rowOf(answer.text('executables'), pid);
  const [, device, inode] = file ?? [];
  const nonce = nonceOf(answer.bytes('nonces'), pid);
  return {
    found: 'process',
    identity: { ...observer, pid, startTime: `linux:${stat.startTicks}` },
    evidence: {
      executable: device === undefined || inode === undefined ? null : { path: '', device, inode },
      argvHash: hashOf(answer.text('hashes'), pid),
      ...(nonce === undefined ? {} : { nonce }),
    },
    name: nameFrom(pid, stat, uptime),
    finished: isFinished(stat),
    uid,
  };
}

/** As the local verdict: a process of another user is never `same`. Pure. */
export function verdictOn(ref: ProcessRef, observer: Observer, seen: SeenProcess, ownUid: number): Verdict {
  const verdict = judge(ref, observer, seen);
  if (verdict.verdict === 'same' && 'uid' in seen && seen.uid !== ownUid) {
    return {
      verdict: 'unknown',
      why: `it belongs to another user (uid ${seen.uid}), whose processes are never touched`,
    };
  }
  return verdict;
}

export interface Observed {
  readonly verdict: Verdict;
  readonly seen: SeenProcess | null;
}

interface Waiting {
  readonly ref: ProcessRef;
  readonly done: (observed: Observed) => void;
}

/** Gives verdicts; never rejects: what could not be asked is `unknown`. */
export class Observing {
  readonly #shell: RemoteShell;
  readonly #contact: RemotePlatform;
  readonly #self: ReadonlySet<number>;
  #waiting: Waiting[] = [];

  constructor(shell: RemoteShell, contact: RemotePlatform) {
    this.#shell = shell;
    this.#contact = contact;
    this.#self = new Set(contact.selfAndAncestors);
  }

  /** Reads the nonce in its environment as well where the reference has one, which costs one process more. */
  observe(ref: ProcessRef): Promise<Observed> {
    const refused = refusePid(ref.identity.pid, this.#self);
    if (refused !== null) {
      // A number of another place has nothing to do with ours.
      const verdict = judge(ref, this.#contact.observer, { found: 'failed', why: refused });
      return Promise.resolve({ verdict, seen: null });
    }
    return new Promise((done) => {
      if (this.#waiting.length === 0) setImmediate(() => void this.#flush());
      this.#waiting.push({ ref, done });
    });
  }

  async #flush(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let at = 0; at < waiting.length; at += BATCH) await this.#ask(waiting.slice(at, at + BATCH));
  }

  async #ask(batch: readonly Waiting[]): Promise<void> {
    const { observer, processes, uid } = this.#contact;
    const pids = [...new Set(batch.map(({ ref }) => ref.identity.pid))];
    let answer: ScriptAnswer;
    try {
      const parameters = {
        what: 'observe',
        pids: pids.join(' '),
        proc: processes,
        nonce: batch.some(({ ref }) => ref.evidence.nonce !== undefined) ? 1 : 0,
      };
      answer = await this.#shell.run(processes === 'ps' ? psScript : observeScript, parameters, DEADLINE_MS);
    } catch (error) {
      const why = messageOf(error);
      for (const { ref, done } of batch) {
        done({ verdict: judge(ref, observer, { found: 'failed', why }), seen: null });
      }
      return;
    }
    const place = placeOf(answer, this.#contact);
    for (const { ref, done } of batch) {
      const { pid } = ref.identity;
      const seen = processes === 'ps' ? listedSeen(answer, pid, place) : seenIn(answer, pid, place, true);
      done({ verdict: verdictOn(ref, place, seen, uid), seen });
    }
  }
}
