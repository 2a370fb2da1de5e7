import { expect, test } from 'vitest';
import { roll, server, session } from '../e2e/support/fixture-roll.ts';
import { quitAsks, quitLabel, quitPlan, quitQuestion } from './quit-words.ts';

const ours = (pid: number, over: Parameters<typeof server>[2] = {}) => server(pid, 'supervised', over);
const kept = (pid: number) =>
  ours(pid, {
    supervised: {
      recordPath: '/r',
      keepRunning: true,
      logPath: null,
      nonceSeen: true,
      state: 'ready',
      idleMinutes: null,
      idleStopAt: null,
      outdated: null,
    },
  });
const leaving = { ...roll().settings, stopLocalServers: false };

test('local servers stop with the app, except those that are kept running', () => {
  const plan = quitPlan(roll({ servers: [ours(1), kept(2), server(3, 'owned'), ours(4, { host: 'build-01' })] }));
  expect(plan.stopping.map((one) => one.pid)).toEqual([1]);
  expect(plan.leaving.map((one) => one.pid)).toEqual([2]);
});

test('where the settings leave local servers running, none stops, nobody is asked, and the words say so', () => {
  const one = roll({ servers: [ours(1, { busy: 'busy' }), kept(2)], settings: leaving });
  expect(quitPlan(one).stopping).toEqual([]);
  expect(quitPlan(one).leaving).toHaveLength(2);
  expect(quitAsks(one)).toBe(false);
  expect(quitLabel(one)).toBe('Quit, leaving 2 local servers running');
});

test('quitting asks only for what it would interrupt', () => {
  expect(quitAsks(roll({ servers: [ours(1)] }))).toBe(false);
  expect(quitAsks(roll({ servers: [server(1, 'owned', { busy: 'busy' })] }))).toBe(false);
  expect(quitAsks(roll({ servers: [ours(1, { busy: 'busy' })] }))).toBe(true);
  const quiet = ours(1);
  expect(quitAsks(roll({ servers: [quiet], sessions: [session(quiet, 'busy', 1)] }))).toBe(true);
  expect(quitLabel(roll({ servers: [ours(1, { busy: 'busy' }), ours(2)] }))).toBe('Quit, stopping 2 local servers…');
});

test('the question names whom it interrupts, and its button repeats the deed', () => {
  const at = (pid: number, port: number) => ours(pid, { busy: 'busy', listening: [{ address: '127.0.0.1', port }] });
  expect(quitQuestion(roll({ servers: [at(1, 4096), ours(2)] }))).toEqual({
    message: 'Quit and stop 2 local servers?',
    detail: 'opencode :4096 on local is busy and is interrupted; its sessions end and history is kept.',
    button: 'Quit and stop 2 local servers',
  });
  expect(quitQuestion(roll({ servers: [at(1, 4096), at(2, 4097)] })).detail).toBe(
    'opencode :4096 on local and opencode :4097 on local are busy and are interrupted; their sessions end and history is kept.',
  );
});

test('the question lists the sessions that are cut off, and names a server only where none of it is known', () => {
  const watched = ours(1, { busy: 'busy' });
  const locked = ours(2, { busy: 'busy', listening: [{ address: '127.0.0.1', port: 4097 }] });
  const sessions = [session(watched, 'busy', 1), session(watched, 'busy', 2), session(watched, 'idle', 3)];
  expect(quitQuestion(roll({ servers: [watched], sessions })).detail).toBe(
    '2 busy sessions are interrupted: “Session 1”, “Session 2”.\nTheir history is kept.',
  );
  const waiting = { ...session(watched, 'busy', 4), state: 'waiting' as const };
  expect(quitAsks(roll({ servers: [ours(1)], sessions: [waiting] }))).toBe(true);
  expect(quitQuestion(roll({ servers: [watched, locked], sessions: [waiting] })).detail).toBe(
    '1 waiting session is interrupted: “Session 4”.\n' +
      'opencode :4097 on local is busy and is interrupted; its sessions end and history is kept.',
  );
  // One that no server carries is nobody's to interrupt.
  expect(quitAsks(roll({ servers: [ours(1)], sessions: [{ ...waiting, server: null }] }))).toBe(false);
});
