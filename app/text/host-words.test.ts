import { describe, expect, test } from 'vitest';
import type { HostEntry, SshEntry } from '../roll/schema.ts';
import {
  actRefusal,
  aliasOf,
  commandOf,
  failureTitle,
  groupedFingerprint,
  hostNamed,
  hostProblem,
  hostStatus,
  isFaulty,
  isSilent,
  keyChanged,
  keyTypeOf,
  nextAttempt,
  questionSentence,
  sameFingerprint,
  secondsToRetry,
  sharedSentence,
  shownSuggestions,
  stoppedByDisconnect,
  timeLeft,
} from './host-words.ts';

const NOW = new Date(2026, 10, 30, 14, 32, 5).getTime();
const at = (ms: number): string => new Date(NOW + ms).toISOString();

function host(state: HostEntry['state'], over: Partial<SshEntry> = {}, lookedAt: string | null = null): HostEntry {
  return {
    id: 'ssh web-eu',
    name: 'web-eu',
    state,
    hostname: 'web-eu',
    detail: null,
    lookedAt,
    counted: 0,
    partial: null,
    signalling: { method: 'verify-then-kill', note: '' },
    cpuPercent: null,
    memoryTotalBytes: null,
    memoryUsedBytes: null,
    load1: null,
    ssh: {
      alias: 'web-eu',
      saved: true,
      connect: 'at-start',
      sharedWith: null,
      target: null,
      steps: [],
      attempt: 0,
      retryAt: null,
      failure: null,
      ...over,
    },
  };
}

const failure = (step: string, code: string) => ({
  step,
  code,
  message: 'It failed.',
  remedy: 'Mend it.',
  output: null,
});

describe('a host’s state', () => {
  test('says the step under way, the seconds to the next attempt, the step that failed', () => {
    const steps: SshEntry['steps'] = [
      { step: 'resolve', state: 'done', detail: null },
      { step: 'host-key', state: 'running', detail: null },
    ];
    expect(hostStatus(host('connecting', { steps }), NOW)).toBe('connecting: host key');
    expect(hostStatus(host('connecting', { steps, attempt: 2 }), NOW)).toBe('reconnecting, attempt 2');
    expect(hostStatus(host('reconnecting', { attempt: 3, retryAt: at(7200) }), NOW)).toBe('reconnecting in 8 s');
    expect(hostStatus(host('authenticating'), NOW)).toBe('waits for an answer');
    expect(hostStatus(host('failed', { failure: failure('authentication', 'permission-denied') }), NOW)).toBe(
      'failed: sign-in',
    );
    expect(hostStatus(host('unsupported'), NOW)).toBe('unsupported');
    expect(hostStatus(host('disconnected'), NOW)).toBe('not connected');
  });

  test('counts down in whole seconds and never says 0', () => {
    expect(secondsToRetry({ retryAt: at(8000) }, NOW)).toBe(8);
    expect(secondsToRetry({ retryAt: at(10) }, NOW)).toBe(1);
    expect(secondsToRetry({ retryAt: at(-500) }, NOW)).toBe(1);
    expect(secondsToRetry({ retryAt: null }, NOW)).toBeNull();
    expect(nextAttempt({ attempt: 3, retryAt: at(8000) }, NOW)).toBe('Attempt 3 in 8 s.');
    expect(nextAttempt({ attempt: 3, retryAt: null }, NOW)).toBe('Attempt 3 is under way.');
  });

  test('D2 two hosts that are one machine say so, and one that is this machine does', () => {
    const shared = host('connected', { sharedWith: 'build-01' });
    expect(hostStatus(shared, NOW)).toBe('same machine as build-01');
    expect(sharedSentence(shared)).toContain('they share one connection');
    const here = host('connected', { sharedWith: 'local' });
    expect(hostStatus(here, NOW)).toBe('this very machine');
    expect(sharedSentence(here)).toBe('web-eu is this very machine, so its servers are listed under local.');
    expect(sharedSentence(host('connected'))).toBeNull();
  });
});

describe('a host that does not answer', () => {
  const lost = (attempt: number, state: HostEntry['state'] = 'reconnecting') =>
    host(state, { attempt, retryAt: state === 'reconnecting' ? at(8000) : null }, at(-45_000));

  test('is told from the second attempt on, also while that is under way, and is a fault after a minute', () => {
    expect(hostProblem(lost(1), NOW)).toBeNull();
    expect(hostProblem(lost(3), NOW)).toEqual({
      title: 'web-eu does not answer',
      detail: 'No answer since 14:31:20. Attempt 3 in 8 s. Its servers keep running; these rows are from before.',
    });
    expect(hostProblem(lost(3, 'connecting'), NOW)?.detail).toContain('Attempt 3 is under way.');
    expect(isSilent(lost(2, 'connecting'))).toBe(true);
    expect(isSilent(host('connecting'))).toBe(false);
    expect(isFaulty(lost(3), NOW)).toBe(false);
    expect(isFaulty(lost(3), NOW + 20_000)).toBe(true);
    expect(isFaulty(host('disconnected', {}, at(-90_000)), NOW)).toBe(false);
  });

  test('D4 nothing there can be acted on, and the sentence says when it can', () => {
    expect(actRefusal(lost(3))).toBe(
      'Nothing can be stopped now: without a connection Rollcall cannot prove which process this is. It works again after the next look.',
    );
    expect(actRefusal(host('disconnected'))).toMatch(/Connect web-eu first\.$/u);
    expect(actRefusal(host('connected'))).toBeNull();
    expect(actRefusal(undefined)).toBeNull();
  });
});

describe('a host that could not be connected', () => {
  test('is called by what a person has to deal with, with the sentence and the remedy', () => {
    const titled = (step: string, code: string) => failureTitle(host('failed', { failure: failure(step, code) }));
    expect(titled('host-key', 'changed-host-key')).toBe('The key of web-eu has changed');
    expect(titled('host-key', 'unknown-host-key')).toBe('The key of web-eu is not known yet');
    expect(titled('authentication', 'permission-denied')).toBe('web-eu refused the sign-in');
    expect(titled('name', 'name-not-found')).toBe('web-eu could not be connected');
    expect(hostProblem(host('failed', { failure: failure('name', 'name-not-found') }), NOW)?.detail).toBe(
      'It failed. Mend it.',
    );
  });

  test('a changed key is one only while it stands in the way; its command can be copied', () => {
    const changed = { failure: failure('host-key', 'changed-host-key') };
    expect(keyChanged(host('failed', changed))).toBe(true);
    expect(keyChanged(host('connecting', changed))).toBe(false);
    expect(commandOf("Remove the old one (ssh-keygen -f '/h/known_hosts' -R 'a') and connect again.")).toBe(
      "ssh-keygen -f '/h/known_hosts' -R 'a'",
    );
    expect(commandOf('Ask somebody.')).toBeNull();
  });
});

describe('keys and questions', () => {
  test('a fingerprint is grouped for the eye and compared without its spaces', () => {
    const shown = 'SHA256:q7Zt0sYhLw3B9nVfRkE5';
    expect(groupedFingerprint(shown)).toBe('SHA256:q7Zt 0sYh Lw3B 9nVf RkE5');
    expect(sameFingerprint(shown, ' q7Zt 0sYh Lw3B 9nVf RkE5 ')).toBe(true);
    expect(sameFingerprint(shown, 'SHA256:q7Zt0sYhLw3B9nVfRkE5=')).toBe(true);
    expect(sameFingerprint(shown, 'SHA256:q7Zt0s')).toBeNull();
    expect(sameFingerprint(shown, '')).toBeNull();
    expect(sameFingerprint(shown, 'SHA256:q7Zt0sYhLw3B9nVfRkE6')).toBe(false);
    // Case matters in base64.
    expect(sameFingerprint(shown, 'SHA256:Q7zt0syhlw3b9nvfrke5')).toBe(false);
    expect(keyTypeOf({ text: 'x\nED25519 key fingerprint is SHA256:abc.' })).toBe('ED25519');
    expect(keyTypeOf({ text: 'x' })).toBeNull();
  });

  test('a question is one line, and its time is counted here', () => {
    expect(questionSentence({ host: 'web-eu', type: 'host-key' })).toBe('web-eu: its key is not known yet');
    expect(questionSentence({ host: 'web-eu', type: 'code' })).toBe('web-eu waits for a one-time code');
    expect(timeLeft(at(72_000), NOW)).toBe('1 min 12 s left');
    expect(timeLeft(at(8_500), NOW)).toBe('9 s left');
    expect(timeLeft(at(-1), NOW)).toBe('0 s left');
  });
});

test('what a person types becomes what ssh takes', () => {
  expect(aliasOf(' web-eu ')).toBe('web-eu');
  expect(aliasOf('dev@10.0.4.17:2222')).toBe('ssh://dev@10.0.4.17:2222');
  expect(aliasOf('ssh://dev@host:22')).toBe('ssh://dev@host:22');
  expect(aliasOf('fe80::1')).toBe('fe80::1');
});

test('a name means a host by its name first, else by its alias; what is saved is not offered again', () => {
  const byName = { ...host('connected'), name: 'box' };
  const roll = { hosts: [host('connected', { alias: 'box' }), byName] };
  expect(hostNamed(roll, 'box')).toBe(byName);
  expect(hostNamed({ hosts: [host('connected', { alias: 'other' })] }, 'other')?.name).toBe('web-eu');
  expect(hostNamed(roll, 'nobody')).toBeNull();
  const offered = [
    { alias: 'web-eu', from: 'config' as const },
    { alias: 'nas', from: 'config' as const },
  ];
  expect(shownSuggestions({ hosts: [host('connected')], offered }).map(({ alias }) => alias)).toEqual(['nas']);
  expect(shownSuggestions({ hosts: [host('connected', { saved: false })], offered })).toHaveLength(2);
  expect(stoppedByDisconnect({ servers: [] }, 'web-eu')).toEqual([]);
});
