/**
 * Standings: the first rule that matches, with the facts a person can check (DESIGN section 2).
 *
 *   supervised → service → owned → detached → suspect → leaked
 *
 * Pure. Everything that was looked at arrives as facts; what could not be looked at arrives as such, and a check
 * that could not run never counts as one that holds.
 */

import type { Check, Standing } from '../../roll/schema.ts';
import type { Busyness } from '../../servers/kind.ts';
import { sentenceAge } from '../../text/words.ts';

export type OwnerFact =
  | { readonly state: 'alive'; readonly label: string; readonly pid: number; readonly fact: string }
  | {
      readonly state: 'gone';
      /** Null when nobody saw it while it lived. */
      readonly label: string | null;
      readonly pid: number | null;
      /** Milliseconds since the epoch; null when nobody saw it go. */
      readonly endedAt: number | null;
      readonly fact: string;
    }
  | { readonly state: 'unknown'; readonly why: string };

export type ClientFact =
  | { readonly state: 'none'; readonly fact: string }
  | { readonly state: 'some'; readonly count: number; readonly fact: string }
  /** The kind has no connections to look at: it talks on its standard streams. */
  | { readonly state: 'not-applicable' }
  | { readonly state: 'unknown'; readonly why: string };

export interface StandingFacts {
  /** A record of ours verifies it. */
  readonly supervised: boolean;
  /** Why it is a service ("unit opencode.service"); null when it is none, `unknown` when it could not be read. */
  readonly service: { readonly state: 'yes' | 'no' | 'unknown'; readonly fact: string };
  readonly owner: OwnerFact;
  /** Whether somebody meant it to stay when its terminal closes. */
  readonly detached: { readonly state: 'yes' | 'no' | 'unknown'; readonly fact: string };
  readonly client: ClientFact;
  readonly busy: Busyness;
  /** When the last owner, client or busy sign was seen, else its start; milliseconds since the epoch. */
  readonly aloneSince: number;
  readonly now: number;
  readonly graceMs: number;
  readonly pid: number;
  /** Null when it can be signalled; else why its identity is not proved (another user's, unreadable). */
  readonly unproved: string | null;
}

export interface Judgement {
  readonly standing: Standing;
  /** Sentences without a full stop, the deciding one first. */
  readonly reasons: readonly string[];
  readonly checks: readonly Check[];
}

function ownerCheck({ owner }: StandingFacts): Check {
  const base = { check: 'owner', label: 'No living owner' } as const;
  switch (owner.state) {
    case 'alive':
      return { ...base, result: 'does-not-hold', fact: owner.fact };
    case 'gone':
      return { ...base, result: 'holds', fact: owner.fact };
    case 'unknown':
      return { ...base, result: 'could-not-run', fact: owner.why };
  }
}

function clientCheck({ client }: StandingFacts): Check | null {
  const base = { check: 'client', label: 'No client' } as const;
  switch (client.state) {
    case 'not-applicable':
      return null;
    case 'none':
      return { ...base, result: 'holds', fact: client.fact };
    case 'some':
      return { ...base, result: 'does-not-hold', fact: client.fact };
    case 'unknown':
      return { ...base, result: 'could-not-run', fact: client.why };
  }
}

function busyCheck({ busy }: StandingFacts): Check {
  const base = { check: 'busy', label: 'Not busy' } as const;
  if (busy.busy === 'unknown') return { ...base, result: 'could-not-run', fact: busy.why };
  return { ...base, result: busy.busy ? 'does-not-hold' : 'holds', fact: busy.sign };
}

/** A check that denies something holds when that is not so. */
const DENIED = { yes: 'does-not-hold', no: 'holds', unknown: 'could-not-run' } as const;

function serviceCheck({ service }: StandingFacts): Check {
  return { check: 'service', label: 'Not a service', result: DENIED[service.state], fact: service.fact };
}

function detachedCheck({ detached }: StandingFacts): Check {
  return { check: 'detached', label: 'Not detached on purpose', result: DENIED[detached.state], fact: detached.fact };
}

function graceCheck({ aloneSince, now, graceMs }: StandingFacts): Check {
  const alone = Math.max(0, now - aloneSince);
  return {
    check: 'grace',
    label: 'Older than the grace period',
    result: alone >= graceMs ? 'holds' : 'does-not-hold',
    fact: `alone for ${sentenceAge(alone)}; the grace is ${sentenceAge(graceMs)}`,
  };
}

function identityCheck({ unproved, pid }: StandingFacts): Check {
  return unproved === null
    ? { check: 'identity', label: 'Identity is proved', result: 'holds', fact: `PID ${pid}, verdict same` }
    : { check: 'identity', label: 'Identity is proved', result: 'could-not-run', fact: unproved };
}

/** Decides the one standing of a server and says why. */
export function judgeStanding(facts: StandingFacts): Judgement {
  const checks = [
    ownerCheck(facts),
    clientCheck(facts),
    busyCheck(facts),
    serviceCheck(facts),
    detachedCheck(facts),
    graceCheck(facts),
    identityCheck(facts),
  ].filter((check) => check !== null);
  const { standing, first } = decide(facts, checks);
  const rest = checks
    .filter((check) => standing === 'leaked' || (standing === 'suspect' && check.result !== 'holds'))
    .map((check) => check.fact);
  return { standing, reasons: [...new Set([...(first === null ? [] : [first]), ...rest])], checks };
}

function decide(facts: StandingFacts, checks: readonly Check[]): { standing: Standing; first: string | null } {
  if (facts.supervised) return { standing: 'supervised', first: 'Rollcall started it and its record verifies' };
  if (facts.service.state === 'yes') return { standing: 'service', first: facts.service.fact };
  if (facts.owner.state === 'alive') return { standing: 'owned', first: facts.owner.fact };
  if (facts.detached.state === 'yes') {
    return { standing: 'detached', first: `${facts.detached.fact}: somebody meant it to stay` };
  }
  if (checks.some((check) => check.result !== 'holds')) {
    return { standing: 'suspect', first: facts.owner.state === 'gone' ? facts.owner.fact : null };
  }
  return { standing: 'leaked', first: null };
}
