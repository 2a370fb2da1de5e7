/** What files of other tools tell of sessions, for the book: each with the process that carries it. Pure but for what it keeps. */
import { createHash } from 'node:crypto';
import { identityKey, type Observer, type ProcessIdentity } from '../identity/identity.ts';
import type { SessionFact } from '../servers/kind.ts';
import type { Carrier, Telling } from '../sessions/carrier.ts';
import type { ForeignSession } from '../sessions/foreign/session.ts';
import type { JudgedServer } from './roster.ts';

const NONE: ReadonlySet<string> = new Set();

interface Group {
  readonly first: ForeignSession;
  readonly identity: ProcessIdentity;
  readonly sessions: ForeignSession[];
}

type Carriers = Map<string, { readonly carrier: Carrier; readonly signature: string }>;

export class ForeignTellings {
  #carriers: Carriers = new Map();
  readonly #facts = new WeakMap<ForeignSession, SessionFact>();

  of(sessions: readonly ForeignSession[], servers: readonly JudgedServer[], observer: Observer): Telling[] {
    const groups = new Map<string, Group>();
    for (const session of sessions) {
      // What has ended is told by its process, which is gone.
      if (session.state === 'ended') continue;
      const identity = session.identity ?? unproved(session, observer);
      const key = `${session.tool} ${identityKey(identity)}`;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, { first: session, identity, sessions: [session] });
      else group.sessions.push(session);
    }
    const carriers: Carriers = new Map();
    const tellings = [...groups].map(([key, group]): Telling => {
      const facts = group.sessions.map((session) => [session.id, this.#factOf(session)] as const);
      return {
        carrier: this.#carrierOf(key, group, servers, carriers),
        reading: { why: null, sessions: new Map(facts), deleted: NONE, truncated: false },
        why: '',
        complete: true,
      };
    });
    this.#carriers = carriers;
    return tellings;
  }

  #carrierOf(key: string, { first, identity }: Group, servers: readonly JudgedServer[], carriers: Carriers): Carrier {
    const server = servers.find(({ roots }) =>
      roots.some((root) => identityKey(root.identity) === identityKey(identity)),
    );
    const row = server?.row.id ?? null;
    const signature = `${row} ${first.carrier} ${first.pid} ${first.directory}`;
    const before = this.#carriers.get(key);
    const kept =
      before?.signature === signature
        ? before
        : {
            signature,
            carrier: {
              identity,
              kind: first.tool,
              row,
              label: first.pid === null ? first.carrier : `${first.carrier}, PID ${first.pid}`,
              directory: first.directory,
              startedAt: 0,
              proved: first.identity !== null,
              acts: false,
              noActs: `${first.tool} offers no way to interrupt it from outside.`,
              attach: () => null,
            },
          };
    carriers.set(key, kept);
    return kept.carrier;
  }

  #factOf(session: ForeignSession): SessionFact {
    const known = this.#facts.get(session);
    if (known !== undefined) return known;
    const { id, title, directory, state, detail, startedAt, updatedAt } = session;
    const fact: SessionFact = {
      id,
      title,
      directory,
      parent: null,
      state: state === 'ended' ? 'unknown' : state,
      detail,
      createdAt: startedAt,
      // Its file stands for it, however old its last sign is.
      updatedAt: updatedAt ?? startedAt ?? 0,
      heardAt: null,
    };
    this.#facts.set(session, fact);
    return fact;
  }
}

/** Stands for a process that nothing proves, so that its session has a place and never a life. */
function unproved({ path, pid }: ForeignSession, { hostId, bootId, pidNamespace }: Observer): ProcessIdentity {
  const mark = createHash('sha256').update(path).digest('hex').slice(0, 16);
  return { hostId, bootId, pidNamespace, pid: pid ?? 0, startTime: `linux:unproved-${mark}` };
}
