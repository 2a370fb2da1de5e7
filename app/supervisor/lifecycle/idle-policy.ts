/** The idle policy on a host: what it is told of each server of ours, and what follows from its news. */
import type { ServerRecord } from '../../records/schema.ts';
import type { Server, Session } from '../../roll/schema.ts';
import type { JudgedServer } from '../judged-server.ts';
import type { IdleFacts, IdleWatch } from './idle.ts';

export interface IdleDeps {
  readonly watch: IdleWatch;
  /** For servers with no time of their own, in minutes; null: they are never stopped. */
  readonly usualMinutes: () => number | null;
  readonly sessionsOn: (row: string) => readonly Session[];
  readonly announced: (row: Server, minutes: number) => void;
  readonly due: (row: Server) => void;
}

export class IdlePolicy {
  readonly #parts: IdleDeps;

  constructor(parts: IdleDeps) {
    this.#parts = parts;
  }

  /** After how many minutes it is stopped; null: never. */
  minutesOf({ idleMinutes }: ServerRecord): number | null {
    return idleMinutes === undefined ? this.#parts.usualMinutes() : idleMinutes;
  }

  /** When it is stopped, for people, once that is announced. */
  stopAtOf({ nonce }: ServerRecord): string | null {
    const stopAt = this.#parts.watch.shownStopAt(nonce);
    return stopAt === null ? null : new Date(stopAt).toISOString();
  }

  observe(servers: readonly JudgedServer[]): void {
    const ours = servers.flatMap(({ row, record }) => (record === null ? [] : [{ row, record: record.record }]));
    const facts = ours.map(({ row, record }) => this.#factsOf(row, record));
    const { announced, due } = this.#parts.watch.observe(facts, performance.now());
    for (const { row, record } of ours) {
      if (announced.includes(record.nonce)) this.#parts.announced(row, this.minutesOf(record) ?? 0);
      if (due.includes(record.nonce)) this.#parts.due(row);
    }
  }

  #factsOf(row: Server, record: ServerRecord): IdleFacts {
    // One of which nothing was said on this connection may wait for somebody, whatever else is silent.
    const silent = row.busy === 'idle' && this.#parts.sessionsOn(row.id).some(({ state }) => state === 'unknown');
    return {
      nonce: record.nonce,
      minutes: this.minutesOf(record),
      busy: silent ? 'unknown' : row.busy,
      clients: row.clients?.length ?? null,
    };
  }
}
