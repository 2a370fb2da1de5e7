/** What tray, window and CLI say of a server that went away unasked. Pure, as `words.ts` is. */
import type { Ended, LifeState, Roll } from '../roll/schema.ts';
import { capitalised, plural } from './words.ts';

const SECOND = 1000;

/** What happened, as a sentence: `It was ended by SIGKILL.` */
export function endedCause({ why }: Pick<Ended, 'why'>): string {
  return `${capitalised(why.replace(/\.$/u, ''))}.`;
}

/** Whether a restart by itself is still to come. */
export function isAwaited({ state, retryAt }: Pick<Ended, 'state' | 'retryAt'>): boolean {
  return state === 'lost' && retryAt !== null;
}

/**
 * What happens next, as a sentence: `It starts again in 4 s, attempt 2 of 5.`
 *
 * @param now milliseconds since the epoch
 */
export function endedNext(ended: Ended, now: number): string {
  const { state, attempt, attempts, retryAt } = ended;
  if (state === 'failed') {
    // Attempt 0 is a person's own; they have its answer already.
    return attempt === 0
      ? 'It is not tried again by itself.'
      : `It was given up after ${plural(attempt, 'attempt')}${ended.logPath === null ? '' : '; its log may tell why'}.`;
  }
  const count = attempt === 0 ? '' : `, attempt ${attempt} of ${attempts}`;
  if (state === 'planned') return `It is being started again${count}.`;
  if (retryAt === null) return 'It is not started again by itself.';
  const seconds = Math.ceil((Date.parse(retryAt) - now) / SECOND);
  return seconds > 0 ? `It starts again in ${seconds} s${count}.` : `It is being started again${count}.`;
}

/** What happened and what happens next. While it is being started again, only that is news. */
export function endedDetail(ended: Ended, now: number): string {
  return ended.state === 'planned' ? endedNext(ended, now) : `${endedCause(ended)} ${endedNext(ended, now)}`;
}

/** The button or item that starts it: now while a restart is waited for, else again. */
export function startAgainLabel(ended: Ended): 'Start now' | 'Start again' {
  return isAwaited(ended) ? 'Start now' : 'Start again';
}

/** Several in one line: `5 servers ended unexpectedly`. */
export function endedTitle(ended: readonly Ended[]): string {
  return `${plural(ended.length, 'server')} ended unexpectedly`;
}

/** What becomes of several: `2 are started again by themselves, 1 was given up, 2 wait for you.` */
export function endedSummary(ended: readonly Ended[]): string {
  const restarting = ended.filter((each) => each.state === 'planned' || isAwaited(each)).length;
  const failed = ended.filter(({ state }) => state === 'failed').length;
  const waiting = ended.length - restarting - failed;
  const parts = [
    restarting === 0
      ? ''
      : restarting === 1
        ? '1 is started again by itself'
        : `${restarting} are started again by themselves`,
    failed === 0 ? '' : failed === 1 ? '1 was given up' : `${failed} were given up`,
    waiting === 0 ? '' : waiting === 1 ? '1 waits for you' : `${waiting} wait for you`,
  ].filter((part) => part !== '');
  return `${parts.join(', ')}.`;
}

/** The ended server of a nonce; null when it is settled by now. */
export function endedBy(roll: Pick<Roll, 'ended'>, nonce: string | undefined): Ended | null {
  return nonce === undefined ? null : (roll.ended.find((each) => each.nonce === nonce) ?? null);
}

const LIFE_WORDS: Readonly<Record<LifeState, string>> = {
  planned: 'about to be started',
  starting: 'starting, has not answered yet',
  ready: 'ready',
  unresponsive: 'unresponsive',
  stopping: 'being stopped',
  stopped: 'stopped',
  failed: 'failed',
  lost: 'ended unexpectedly',
};

/** The state of a server that Rollcall started, in words. */
export function lifeWords(state: LifeState): string {
  return LIFE_WORDS[state];
}
