/** Sessions as the roll shows them. Pure. */
import type { Permission, Session } from '../roll/schema.ts';
import type { SessionFact } from '../servers/kind.ts';
import type { SessionEnd, SessionRun } from './session-run.ts';
import { isWorking, type SessionSource } from './session-source.ts';

export interface LiveInput {
  readonly key: string;
  readonly host: string;
  readonly life: SessionRun | null;
  readonly fact: SessionFact;
  /** Null while nothing that runs has told of it yet. */
  readonly carrier: SessionSource | null;
  /** Milliseconds since the epoch. */
  readonly since: number | null;
  readonly parent: string | null;
}

const UNHEARD = 'Nothing that runs tells of it yet.';

function abortPermission({ carrier, fact }: LiveInput): Permission {
  if (carrier === null) return { allowed: 'no', why: UNHEARD };
  if (!carrier.acts) return { allowed: 'no', why: carrier.noActs };
  if (!isWorking(fact.state)) return { allowed: 'no', why: 'It does nothing that could be interrupted.' };
  if (fact.heardAt === null) return { allowed: 'no', why: 'Its server has not told of it since Rollcall follows it.' };
  return { allowed: 'confirm', why: 'What it does is interrupted.' };
}

function endPermission({ carrier, fact, life }: LiveInput): Permission {
  if (carrier === null || life === null) return { allowed: 'no', why: UNHEARD };
  if (!carrier.acts) return { allowed: 'no', why: carrier.noActs };
  if (isWorking(fact.state)) return { allowed: 'force', why: 'It is busy: what it does is interrupted.' };
  if (fact.state === 'unknown') return { allowed: 'force', why: 'It may be busy: nothing is known of what it does.' };
  return { allowed: 'confirm', why: 'It counts as ended until it is used again; its history is kept.' };
}

export function liveRow(input: LiveInput): Session {
  const { key, host, life, fact, carrier, since, parent } = input;
  return {
    key,
    id: fact.id,
    host,
    kind: carrier?.kind ?? life?.kind ?? '',
    server: carrier?.row ?? null,
    carrier: carrier?.label ?? life?.carrier.label ?? '',
    title: fact.title,
    directory: fact.directory,
    state: fact.state,
    detail: fact.detail,
    since: iso(since),
    startedAt: iso(fact.createdAt),
    lastActivityAt: iso(fact.updatedAt),
    parent,
    attach: attachOf(input),
    abort: abortPermission(input),
    end: endPermission(input),
  };
}

function attachOf({ carrier, fact }: LiveInput): string[] | null {
  const command = carrier?.attach(fact.id) ?? null;
  return command === null ? null : [...command];
}

/** @param last its row when it lived; null where that was in an earlier run */
export function endedRow(life: SessionRun, ending: SessionEnd, last: Session | null): Session {
  const over: Permission = { allowed: 'no', why: 'It has ended.' };
  return {
    key: life.key,
    id: life.id,
    host: life.host,
    kind: life.kind,
    server: null,
    carrier: life.carrier.label,
    title: life.title,
    directory: life.directory,
    state: 'ended',
    detail: ending.text,
    since: ending.at,
    startedAt: last?.startedAt ?? null,
    lastActivityAt: last?.lastActivityAt ?? null,
    parent: last?.parent ?? null,
    attach: null,
    abort: over,
    end: over,
  };
}

/** The last millisecond that ISO 8601 writes with four digits of a year. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** A server may say any number; what is no time of this age is none. */
function iso(ms: number | null): string | null {
  if (ms === null || !Number.isFinite(ms) || ms < 0 || ms > LAST_MS) return null;
  return new Date(ms).toISOString();
}
