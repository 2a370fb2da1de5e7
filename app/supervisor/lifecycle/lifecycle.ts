/**
 * The life of one server that Rollcall started: its states, what may happen in each, and what follows. The only place
 * that decides; whoever sees something happen tells it here and does what the answer says.
 *
 *   planned       its record is written, no process exists yet
 *   starting      spawned; its listener has not answered its kind's own health endpoint yet
 *   ready         its verified listener answers
 *   unresponsive  it verifies `same` and does not answer, or an ending could not end it (never a reason to restart)
 *   stopping      an ending is under way
 *   stopped       an ending proved it gone, or it went later than an ending would wait for
 *   failed        a start did not become ready, or restarts are given up
 *   lost          it went away and nobody here asked it to; restarted when its time comes, if the policy says so
 *
 * Pure. Times are milliseconds on the monotonic clock.
 */
import type { ExitStatus } from '../../hosts/host.ts';
import type { LifeState } from '../../roll/schema.ts';

export interface ServerLifecycle {
  readonly state: LifeState;
  /** When it came into this state. */
  readonly since: number;
  /** When it last became ready; null before that. */
  readonly readySince: number | null;
  /** Automatic restarts in a row that led here; 0 for a start that a person asked for. */
  readonly attempt: number;
  /** When a lost one is started again; null when nobody does so by itself. */
  readonly retryAt: number | null;
  /** An ending has signalled it and could not see it end: when it goes at last, it goes as it was asked to. */
  readonly asked: boolean;
  /** What led to this state, as a clause: "it was ended by SIGKILL". Null where the state says it all. */
  readonly why: string | null;
}

export type LifeEvent =
  | { readonly type: 'spawned' }
  /** The verified listener answered as its kind, or asked for a password. */
  | { readonly type: 'answered' }
  | { readonly type: 'silent'; readonly why: string }
  | { readonly type: 'ending' }
  | { readonly type: 'ended' }
  /** An ending could not end it, or refused to; `signalled` when it tried. */
  | { readonly type: 'stayed'; readonly why: string; readonly signalled: boolean }
  /** A start did not become ready. `final` when another try could not go better (a port in use, no program). */
  | { readonly type: 'start-failed'; readonly why: string; readonly final: boolean }
  /** Its process is gone; `status` says how it ended where that is known. */
  | { readonly type: 'exited'; readonly status: ExitStatus | null }
  /** The time to restart has come, or a person wants it now; theirs begins a new row of attempts. */
  | { readonly type: 'due'; readonly by: 'policy' | 'person' };

/** What is to be done about an event, beside keeping the new state. */
export type LifeAct =
  | 'none'
  /** It went away by itself: end what is left of it, then restart it at `retryAt` if there is one. */
  | 'sweep'
  /** Start it again now. */
  | 'restart';

export interface Step {
  readonly life: ServerLifecycle;
  readonly act: LifeAct;
}

export interface RestartPolicy {
  /** `failure`: after a crash; `never`: only when a person asks. */
  readonly when: 'failure' | 'never';
  /** Restarts in a row before it is given up. */
  readonly attempts: number;
}

/** The first restart waits this long, each further one twice as long, up to the longest. Milliseconds. */
export const FIRST_BACKOFF_MS = 1000;
export const MAX_BACKOFF_MS = 60_000;
/** One that was ready for this long starts a new row of attempts. */
export const STABLE_MS = 5 * 60_000;

/** Signals by which somebody means a server to end; systemd's Restart=on-failure counts them as clean, too. */
const MEANT: ReadonlySet<string> = new Set(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGPIPE']);

/** Wait before restart number `attempt` (from 1), in milliseconds. */
export function backoffMs(attempt: number): number {
  return Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.max(0, attempt - 1));
}

/** How a process ended, as a clause. */
export function exitWords(status: ExitStatus | null): string {
  if (status === null) return 'how it ended is not known';
  if (status.signal !== null) return `it was ended by ${status.signal}`;
  return `it exited with code ${status.code ?? 'unknown'}`;
}

/** Only what is known to be a crash is one: an unknown end may have been somebody's wish. */
export function isCrash(status: ExitStatus | null): boolean {
  if (status === null) return false;
  return status.signal === null ? status.code !== 0 : !MEANT.has(status.signal);
}

/** The life of a start that is about to be made. */
export function planned(now: number, attempt: number): ServerLifecycle {
  return { state: 'planned', since: now, readySince: null, attempt, retryAt: null, asked: false, why: null };
}

/**
 * The life of a server that was found running. One whose start was cut off has nobody who waits for it to become ready,
 * so it is not starting but does not answer yet.
 */
export function adopted(now: number, ready: boolean, attempt: number): ServerLifecycle {
  const life = { since: now, attempt, retryAt: null, asked: false };
  return ready
    ? { ...life, state: 'ready', readySince: now, why: null }
    : { ...life, state: 'unresponsive', readySince: null, why: 'its start was cut off before it answered' };
}

/** What cannot happen in a state changes nothing: news may come late or twice. */
export function step(life: ServerLifecycle, event: LifeEvent, policy: RestartPolicy, now: number): Step {
  const into = (state: LifeState, change: Partial<ServerLifecycle> = {}): ServerLifecycle => ({
    ...life,
    state,
    since: now,
    retryAt: null,
    why: null,
    ...change,
  });
  const stays: Step = { life, act: 'none' };
  switch (event.type) {
    case 'spawned':
      return life.state === 'planned' ? { life: into('starting'), act: 'none' } : stays;
    case 'answered':
      if (life.state !== 'starting' && life.state !== 'unresponsive') return stays;
      return { life: into('ready', { readySince: life.readySince ?? now }), act: 'none' };
    case 'silent':
      return life.state === 'ready' ? { life: into('unresponsive', { why: event.why }), act: 'none' } : stays;
    case 'ending':
      return isOver(life.state) ? stays : { life: into('stopping'), act: 'none' };
    case 'ended':
      return life.state === 'stopping' ? { life: into('stopped'), act: 'none' } : stays;
    case 'stayed':
      if (life.state !== 'stopping') return stays;
      return { life: into('unresponsive', { why: event.why, asked: life.asked || event.signalled }), act: 'none' };
    case 'start-failed':
      if (life.state !== 'planned' && life.state !== 'starting') return stays;
      // A person who asked for it has the answer before them; only a restart of our own is tried again.
      if (life.attempt === 0 || event.final) return { life: into('failed', { why: event.why }), act: 'none' };
      return { life: again(into('lost', { why: event.why }), policy, now), act: 'none' };
    case 'exited':
      return exited(life, event.status, into, policy, now);
    case 'due':
      if (life.state !== 'lost' && life.state !== 'failed') return stays;
      return {
        life: into('planned', { readySince: null, attempt: event.by === 'person' ? 0 : life.attempt, why: life.why }),
        act: 'restart',
      };
  }
}

function exited(
  life: ServerLifecycle,
  status: ExitStatus | null,
  into: (state: LifeState, change?: Partial<ServerLifecycle>) => ServerLifecycle,
  policy: RestartPolicy,
  now: number,
): Step {
  // The start itself watches for this until it is ready, and an ending expects it.
  if (life.state !== 'ready' && life.state !== 'unresponsive') return { life, act: 'none' };
  // Nobody is to start again what somebody has ended, however late it went.
  if (life.asked) return { life: into('stopped', { why: exitWords(status) }), act: 'sweep' };
  const stable = life.readySince !== null && now - life.readySince >= STABLE_MS;
  const lost = into('lost', { why: exitWords(status), attempt: stable ? 0 : life.attempt });
  if (!isCrash(status) || policy.when === 'never') return { life: lost, act: 'sweep' };
  return { life: again(lost, policy, now), act: 'sweep' };
}

/** With its next attempt and the time of that; failed when there were enough. */
function again(lost: ServerLifecycle, policy: RestartPolicy, now: number): ServerLifecycle {
  if (policy.when === 'never') return lost;
  if (lost.attempt >= policy.attempts) return { ...lost, state: 'failed' };
  const attempt = lost.attempt + 1;
  return { ...lost, attempt, retryAt: now + backoffMs(attempt) };
}

/** No process of it is expected any more. */
export function isOver(state: LifeState): boolean {
  return state === 'stopped' || state === 'failed' || state === 'lost';
}
