/** What the supervisor saw by itself, told in the audit and so in the timeline. */

import type { Audit } from '../audit/audit.ts';
import type { ExitStatus } from '../hosts/host.ts';
import { isSameProcess, type ProcessIdentity } from '../identity/identity.ts';
import type { Server } from '../roll/schema.ts';
import { rowName } from '../text/words.ts';
import type { JudgedServer } from './judged-server.ts';
import { exitWords } from './lifecycle/lifecycle.ts';
import type { ServerRegistry } from './lifecycle/server-registry.ts';

export class AuditReporter {
  readonly #audit: Audit;
  readonly #by: string;
  /** Servers already told as leaked. */
  #leaked: ReadonlySet<string> = new Set();

  /** @param by who saw it: the app or its guard */
  constructor(audit: Audit, by: string) {
    this.#audit = audit;
    this.#by = by;
  }

  /** Servers of ours that ran before this process did. */
  adopted(servers: readonly JudgedServer[]): void {
    for (const { row, record } of servers) {
      if (record === null) continue;
      this.#tell(
        'adopted',
        rowName(row),
        row.identity,
        `${rowName(row)}, PID ${row.pid}, was found running and adopted`,
      );
    }
  }

  /** Each leak once, for as long as it stands. */
  leaked(servers: readonly JudgedServer[]): void {
    const leaked = servers.filter(({ row }) => row.standing === 'leaked');
    for (const { row } of leaked) {
      if (this.#leaked.has(row.id)) continue;
      const text = `${rowName(row)}, PID ${row.pid}, leaked: ${row.reasons.join('; ')}`;
      this.#tell('leaked', rowName(row), row.identity, text);
    }
    this.#leaked = new Set(leaked.map(({ row }) => row.id));
  }

  /** A server of ours goes on without the process that started it, unless it is being stopped. */
  wrapperExited(
    wrapper: ProcessIdentity,
    status: ExitStatus | null,
    servers: readonly JudgedServer[],
    lives: ServerRegistry,
  ): void {
    const server = servers.find(({ roots }) => roots.some(({ identity }) => isSameProcess(identity, wrapper)));
    // A look may have come before the event, and shows the server without it.
    const known = lives.running().find(({ record }) => {
      if (record.nonce === server?.record?.record.nonce) return true;
      return record.spawned !== null && isSameProcess(record.spawned.identity, wrapper);
    });
    if (known === undefined || lives.state(known.record.nonce) === 'stopping') return;
    const { label, ref } = known;
    const goesOn = `the server itself goes on as PID ${ref.identity.pid}`;
    const text = `The wrapper of ${label}, PID ${wrapper.pid}, is gone (${exitWords(status)}); ${goesOn}`;
    this.#tell('wrapper-exited', label, wrapper, text);
  }

  /** It is stopped soon unless somebody comes. */
  idleSoon(row: Server, minutes: number): void {
    const text = `${rowName(row)} has been idle for ${minutes} min and is stopped in a minute`;
    this.#tell('idle-soon', rowName(row), row.identity, text);
  }

  #tell(
    event: 'adopted' | 'leaked' | 'wrapper-exited' | 'idle-soon',
    subject: string,
    identity: ProcessIdentity,
    text: string,
  ): void {
    this.#audit.note({ event, by: this.#by, pid: identity.pid, identity, subject, text });
  }
}
