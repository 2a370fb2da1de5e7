/** What a host that is reached over SSH looks like in the roll. Pure. */
import { LOCAL_HOST } from '../../config/schema.ts';
import type { ConnectionState } from '../../hosts/ssh/connection/connection-state.ts';
import type { SshFailed } from '../../hosts/ssh-failed.ts';
import type { HostEntry, Leftover, Permission, Server, Session, SshEntry } from '../../roll/schema.ts';
import type { HostSnapshot } from '../snapshot.ts';

/** Failures that say that a machine will never do. */
const UNSUPPORTED: ReadonlySet<string> = new Set(['shell', 'probe']);

export interface HostFacts {
  readonly name: string;
  readonly alias: string;
  readonly saved: boolean;
  readonly connect: SshEntry['connect'];
  readonly sharedWith: string | null;
  readonly target: string | null;
  readonly steps: SshEntry['steps'];
  /** Null before ssh was asked where the alias leads. */
  readonly link: ConnectionState | null;
  /** The connection stands, and nothing is known of the machine yet. */
  readonly contacting: boolean;
  /** Why it cannot be used although its link may stand; null when it can. */
  readonly failure: SshFailed | null;
  /** What its supervisor knows; null where none is there, or the rows are listed under another name. */
  readonly part: HostSnapshot | null;
}

function stateOf({ link, contacting, failure, part }: HostFacts): HostEntry['state'] {
  if (failure?.code === 'this-machine') return 'connected';
  if (failure !== null) return isUnsupported(failure) ? 'unsupported' : 'failed';
  if (link === null) return 'disconnected';
  switch (link.status) {
    case 'disconnected':
      return 'disconnected';
    case 'failed':
      return 'failed';
    case 'connected':
      return contacting ? 'connecting' : (part?.host.state ?? 'connected');
    case 'connecting':
    case 'authenticating':
    case 'reconnecting':
      return link.status;
  }
}

export function isUnsupported({ step, message }: SshFailed): boolean {
  return UNSUPPORTED.has(step) && message.includes('not supported');
}

function detailOf(facts: HostFacts, state: HostEntry['state']): string | null {
  const { link, failure, sharedWith, part } = facts;
  if (failure !== null) return failure.message;
  if (link?.status === 'failed') return link.error.message;
  if (link?.status === 'reconnecting') return link.why.message;
  if (link?.status === 'connecting') return link.text;
  if (link?.status === 'authenticating') return 'ssh waits for your answer.';
  if (state === 'connected' && sharedWith !== null) return `It is the same machine as ${sharedWith}.`;
  return part?.host.detail ?? null;
}

export function hostEntryOf(facts: HostFacts): HostEntry {
  const { name, alias, link, part } = facts;
  const state = stateOf(facts);
  const failure =
    facts.failure ?? (link?.status === 'failed' ? link.error : link?.status === 'reconnecting' ? link.why : null);
  const seen = part?.host;
  return {
    id: name,
    name,
    state,
    hostname: seen?.hostname ?? facts.target ?? alias,
    detail: detailOf(facts, state),
    lookedAt: seen?.lookedAt ?? null,
    counted: seen?.counted ?? 0,
    partial: seen?.partial ?? null,
    signalling: seen?.signalling ?? { method: 'verify-then-kill', note: '' },
    cpuPercent: seen?.cpuPercent ?? null,
    memoryTotalBytes: seen?.memoryTotalBytes ?? null,
    memoryUsedBytes: seen?.memoryUsedBytes ?? null,
    load1: seen?.load1 ?? null,
    ssh: {
      alias,
      saved: facts.saved,
      connect: facts.connect,
      sharedWith: facts.failure?.code === 'this-machine' ? LOCAL_HOST : facts.sharedWith,
      target: facts.target,
      steps: facts.steps,
      // Also while one is under way, so that it does not read as a first connecting.
      attempt: link !== null && 'attempt' in link ? link.attempt : 0,
      retryAt: link?.status === 'reconnecting' ? new Date(link.retryAt.wall).toISOString() : null,
      failure:
        failure === null || failure.code === 'this-machine'
          ? null
          : {
              step: failure.step,
              code: failure.code,
              message: failure.message,
              remedy: failure.remedy,
              output: failure.output,
            },
    },
  };
}

/** The host's part of the roll: its rows, where they are listed under its name, and its line in any case. */
export function hostPartOf(facts: HostFacts): HostSnapshot {
  const host = hostEntryOf(facts);
  const { part } = facts;
  if (part === null) {
    return {
      host,
      servers: [],
      leftovers: [],
      sessions: [],
      ended: [],
      records: [],
      tasks: [],
      faults: [],
      takenAt: null,
    };
  }
  // A look that failed for want of a connection is told by the host's state, not as a fault of its own.
  if (host.state === 'connected') return { ...part, host };
  const faults = host.state === 'failed' ? part.faults : [];
  const { name } = facts;
  return {
    ...part,
    host,
    faults,
    servers: part.servers.map(outOfReach(name)),
    leftovers: part.leftovers.map(untouchable(name)),
    sessions: part.sessions.map(notHeard(name)),
  };
}

function noConnection(name: string): Permission {
  return {
    allowed: 'no',
    why: `There is no connection to ${name}, and without one Rollcall cannot prove which process is which.`,
  };
}

/** As it was last seen. Its tunnel went with the connection: the port may be somebody else's by now. */
function outOfReach(name: string): (server: Server) => Server {
  const no = noConnection(name);
  return (server) => ({ ...server, url: null, reap: no, stop: no, restart: no });
}

/** What it does now cannot be known; that it ended stays true. */
function notHeard(name: string): (session: Session) => Session {
  const no = noConnection(name);
  return (session) =>
    session.state === 'ended'
      ? session
      : {
          ...session,
          state: 'unknown',
          detail: `there is no connection to ${name}; it was ${session.state} when it was last seen`,
          attach: null,
          abort: no,
          end: no,
        };
}

function untouchable(name: string): (leftover: Leftover) => Leftover {
  const no = noConnection(name);
  return (leftover) => ({ ...leftover, reap: no });
}
