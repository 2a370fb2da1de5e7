/**
 * The lives of the servers of ours, by nonce: tells the state machine what was seen of each, and remembers those that
 * went away until a person or a restart has settled them.
 */
import type { ExitStatus } from '../../hosts/host.ts';
import { isSameProcess, type ProcessIdentity, type ProcessRef } from '../../identity/identity.ts';
import type { ServerRecord } from '../../records/schema.ts';
import type { Ended, LifeState } from '../../roll/schema.ts';
import { rowName } from '../../text/words.ts';
import type { JudgedLook } from '../monitor/host-monitor.ts';
import {
  adopted,
  isOver,
  type LifeAct,
  type LifeEvent,
  planned,
  type RestartPolicy,
  type ServerLifecycle,
  step,
} from './lifecycle.ts';

/** A server of ours as it was last seen, so that it can be spoken of and swept after when it is gone. */
export interface TrackedServer {
  readonly record: ServerRecord;
  readonly path: string;
  readonly ref: ProcessRef;
  readonly label: string;
  readonly host: string;
  /** Its wrappers, itself and everything that belonged to it, parents first. */
  readonly processes: readonly ProcessIdentity[];
}

interface Entry {
  life: ServerLifecycle;
  known: TrackedServer | null;
  /** When it went away, in milliseconds since the epoch. */
  endedAt: number | null;
  /** When it is started again, in milliseconds since the epoch: worked out once, so that it reads the same each time. */
  retryAt: number | null;
  /** How our direct child ended, once it has. */
  childExit: ExitStatus | null;
}

export class ServerRegistry {
  readonly #entries = new Map<string, Entry>();
  readonly #host: string;
  readonly #policy: () => RestartPolicy;
  readonly #onChange: () => void;
  readonly #now: () => number;

  /**
   * @param host name of the host whose servers these are
   * @param onChange called after every change that the roll shows, except those of `observe`
   * @param now monotonic milliseconds
   */
  constructor(
    host: string,
    policy: () => RestartPolicy,
    onChange: () => void,
    now: () => number = () => performance.now(),
  ) {
    this.#host = host;
    this.#policy = policy;
    this.#onChange = onChange;
    this.#now = now;
  }

  /** A start is about to write its record. `attempt` counts automatic restarts in a row; 0 for a person's start. */
  plan(nonce: string, attempt: number): void {
    this.#entries.set(nonce, {
      life: planned(this.#now(), attempt),
      known: null,
      endedAt: null,
      retryAt: null,
      childExit: null,
    });
  }

  /** Tells what happened; the answer is what is to be done about it. Nothing is known of an unknown nonce. */
  note(nonce: string, event: LifeEvent): LifeAct {
    const before = this.#entries.get(nonce)?.life;
    const act = this.#step(nonce, event);
    if (this.#entries.get(nonce)?.life !== before) this.#onChange();
    return act;
  }

  /** Our direct child has ended: for a server that is no wrapper's, nobody else may know how. */
  childExited(nonce: string, status: ExitStatus): void {
    const entry = this.#entries.get(nonce);
    if (entry !== undefined) entry.childExit = status;
  }

  /** It is a direct child of a process of ours whose parent has not been told yet how it ended. */
  mayHearOfExit(nonce: string): boolean {
    const entry = this.#entries.get(nonce);
    return entry !== undefined && entry.childExit === null && isDirectChild(entry);
  }

  #step(nonce: string, told: LifeEvent): LifeAct {
    const entry = this.#entries.get(nonce);
    if (entry === undefined) return 'none';
    const event = told.type === 'exited' ? { ...told, status: told.status ?? exitOfChild(entry) } : told;
    const { life, act } = step(entry.life, event, this.#policy(), this.#now());
    if (isOver(life.state) && !isOver(entry.life.state)) entry.endedAt ??= Date.now();
    if (life.retryAt !== entry.life.retryAt) {
      entry.retryAt = life.retryAt === null ? null : Date.now() + Math.round(life.retryAt - this.#now());
    }
    entry.life = life;
    return act;
  }

  /** A start has become ready. */
  bound(record: ServerRecord, path: string): void {
    const entry = this.#entries.get(record.nonce);
    if (entry === undefined || record.server === null) return;
    const processes = [record.spawned, record.server].flatMap((ref) => (ref === null ? [] : [ref.identity]));
    entry.known = {
      record,
      path,
      ref: record.server,
      label: nameOfRecord(record, this.#host),
      host: this.#host,
      processes,
    };
    this.note(record.nonce, { type: 'answered' });
  }

  lifecycle(nonce: string): ServerLifecycle | null {
    return this.#entries.get(nonce)?.life ?? null;
  }

  state(nonce: string): LifeState | null {
    return this.lifecycle(nonce)?.state ?? null;
  }

  tracked(nonce: string): TrackedServer | null {
    return this.#entries.get(nonce)?.known ?? null;
  }

  forget(nonce: string): void {
    if (this.#entries.delete(nonce)) this.#onChange();
  }

  /** Nonces of every server that has a life, whatever its state. */
  nonces(): Iterable<string> {
    return this.#entries.keys();
  }

  /** Everything known of servers that run, for what must not depend on the records alone. */
  running(): readonly TrackedServer[] {
    return [...this.#entries.values()].flatMap(({ life, known }) =>
      known === null || isOver(life.state) ? [] : [known],
    );
  }

  /** The nonce whose server or direct child this identity is; null for any other process. */
  nonceOf(identity: ProcessIdentity): string | null {
    for (const [nonce, { known }] of this.#entries) {
      if (known !== null && isSameProcess(known.ref.identity, identity)) return nonce;
    }
    return null;
  }

  /**
   * Takes in what a look has shown: adopts what it did not know, hears how they answer.
   *
   * @returns nonces of servers that should run and that no record verifies any more
   */
  observe(sight: JudgedLook): string[] {
    const live = new Map(sight.records.live.map((each) => [each.record.nonce, each]));
    for (const [nonce, { record, path, ref }] of live) {
      const server = sight.servers.find((candidate) => candidate.record?.record.nonce === nonce);
      const entry = this.#entries.get(nonce) ?? this.#adopt(record);
      entry.known = {
        record,
        path,
        ref,
        label: server === undefined ? (entry.known?.label ?? nameOfRecord(record, this.#host)) : rowName(server.row),
        host: this.#host,
        processes:
          server === undefined ? (entry.known?.processes ?? []) : server.row.processes.map((row) => row.identity),
      };
      const health = server?.row.health;
      if (health === 'ok' || health === 'locked') this.#step(nonce, { type: 'answered' });
      if (health === 'unresponsive')
        this.#step(nonce, { type: 'silent', why: server?.row.healthDetail ?? 'no answer in time' });
    }
    for (const [nonce, { life }] of this.#entries) {
      // Its ending was seen through, and its record is gone.
      if (life.state === 'stopped' && !live.has(nonce)) this.#entries.delete(nonce);
    }
    const pending = new Set(sight.records.pending.map(({ nonce }) => nonce));
    return [...this.#entries].flatMap(([nonce, { life, known }]) => {
      const expected = life.state === 'ready' || life.state === 'unresponsive';
      return known === null || !expected || live.has(nonce) || pending.has(nonce) ? [] : [nonce];
    });
  }

  #adopt(record: ServerRecord): Entry {
    // Version 1 did not write down when it became ready, only where it listens.
    const life = adopted(this.#now(), record.readyAt !== null || record.listening !== null, record.attempt);
    const entry: Entry = { life, known: null, endedAt: null, retryAt: null, childExit: null };
    this.#entries.set(record.nonce, entry);
    return entry;
  }

  /** What went away and is not settled, as the roll shows it; the newest first. */
  ended(): Ended[] {
    const { attempts } = this.#policy();
    const entries = [...this.#entries].flatMap(([nonce, { life, known, endedAt, retryAt }]): Ended[] => {
      const { state, attempt, why } = life;
      if (known === null || endedAt === null) return [];
      if (state !== 'lost' && state !== 'failed' && state !== 'planned') return [];
      const { record, label, host, ref } = known;
      return [
        {
          nonce,
          host,
          kind: record.kind,
          label,
          directory: record.directory,
          pid: ref.identity.pid,
          state,
          why: why ?? 'it is being started again',
          endedAt: new Date(endedAt).toISOString(),
          attempt,
          attempts,
          retryAt: retryAt === null ? null : new Date(retryAt).toISOString(),
          logPath: record.logPath,
        },
      ];
    });
    return entries.sort((a, b) => (a.endedAt < b.endedAt ? 1 : -1));
  }
}

/** How the server ended, as its parent was told, where we are its parent. */
function exitOfChild(entry: Entry): ExitStatus | null {
  return isDirectChild(entry) ? entry.childExit : null;
}

/** No wrapper stands between it and whoever started it. */
function isDirectChild({ known }: Entry): boolean {
  const { spawned, server } = known?.record ?? { spawned: null, server: null };
  if (spawned === null || server === null) return false;
  return isSameProcess(spawned.identity, server.identity);
}

/** A server named by its record alone, as its row would name it. */
export function nameOfRecord(record: ServerRecord, host: string): string {
  const port = record.listening?.port ?? record.port;
  return `${record.kind}${port === null ? '' : ` :${port}`} on ${host}`;
}
