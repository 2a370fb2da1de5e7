import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { AuditFile } from '../audit/audit.ts';
import { fakeLeftover, fakeRoll, fakeServer } from '../control/fake-core.testing.ts';
import { temporaryFolder } from '../hosts/local/testing/processes.ts';
import { idOf } from '../identity/ids.ts';
import { someRef } from '../records/fixtures.testing.ts';
import type { Alert, Roll, Session } from '../roll/schema.ts';
import { failuresIn } from '../sessions/hooks/hooks.ts';
import { CRASHED, someHook, someLife } from '../sessions/session-run.testing.ts';
import { hookKeyOf, SessionLedger } from '../sessions/store/ledger.ts';
import { viewLedger } from '../sessions/store/ledger-view.ts';
import { audit } from './audit.ts';
import { hooks } from './hooks.ts';
import { idle } from './idle.ts';
import { UsageError } from './io.ts';
import { listJson } from './list-json.ts';
import { renderRoll, rollFingerprint } from './render-roll.ts';
import { renderSessions, sessionsJson } from './render-sessions.ts';
import { type CommandRan, runCommand } from './run-command.testing.ts';
import { abort, end } from './session-acts.ts';
import { findSession } from './session-target.ts';
import { sessions } from './sessions.ts';
import { displayWidth } from './table.ts';

const NOW = Date.parse('2026-01-02T08:16:05.000Z');
const SHOWN = { width: null, home: '/home/me', now: NOW, ended: false };
const NO = { allowed: 'no', why: 'It does nothing that could be interrupted.' } as const;

function session(number: number, state: Session['state'], over: Partial<Session> = {}): Session {
  return {
    key: number.toString(16).padStart(16, 'f'),
    id: `ses_${number}abc`,
    host: 'local',
    kind: 'opencode',
    server: fakeServer(4711, 'owned').id,
    carrier: 'opencode :34801',
    title: `Session ${number}`,
    directory: '/home/me/src/atlas',
    state,
    detail: null,
    since: '2026-01-02T08:11:05.000Z',
    startedAt: '2026-01-02T08:00:00.000Z',
    lastActivityAt: `2026-01-02T08:1${number}:00.000Z`,
    parent: null,
    attach: null,
    abort: state === 'busy' ? { allowed: 'confirm', why: 'What it does is interrupted.' } : NO,
    end:
      state === 'busy'
        ? { allowed: 'force', why: 'It is busy: what it does is interrupted.' }
        : { allowed: 'confirm', why: 'It counts as ended until it is used again.' },
    ...over,
  };
}

const BUSY = session(1, 'busy', { title: 'Port the tests' });
const LATER = session(3, 'idle', { title: '', parent: BUSY.key });
const EARLIER = session(2, 'idle', { carrier: 'opencode :4096', since: null, directory: null });
const WAITING = session(0, 'waiting');
const OVER = session(9, 'ended', {
  title: 'Done with',
  server: null,
  end: { allowed: 'no', why: 'It has ended.' },
  abort: { allowed: 'no', why: 'It has ended.' },
});

function exampleRoll(over: Partial<Roll> = {}): Roll {
  return fakeRoll(1, {
    servers: [
      fakeServer(4711, 'owned', { sessions: { known: true, live: 4, busy: 1 } }),
      fakeServer(4712, 'owned', {
        kind: 'codex',
        listening: [],
        transport: 'stdio',
        sessions: { known: false, why: 'it opens no port on this machine' },
      }),
    ],
    sessions: [OVER, EARLIER, LATER, BUSY, WAITING],
    ...over,
  });
}

const ran = ({ core }: CommandRan): readonly unknown[] => core.ran.map(({ command }) => command);
const words = (text: string): string[] => text.split('\n').map((line) => line.replaceAll(/ {2,}/gu, ' | '));

describe('rollcall sessions', () => {
  test('what works or waits comes first, children are marked, and what cannot be known is said', () => {
    expect(words(renderSessions(exampleRoll(), SHOWN))).toEqual([
      'State | Session | Server | Directory | Host | For',
      'Busy | Port the tests | opencode :34801 | ~/src/atlas | local | 5m',
      'Waiting | Session 0 | opencode :34801 | ~/src/atlas | local | 5m',
      'Idle | ↳ ses_3abc | opencode :34801 | ~/src/atlas | local | 5m',
      'Idle | Session 2 | opencode :4096 | – | local | –',
      '',
      'The sessions of 1 server are not known:',
      ' | codex stdio on local, PID 4712: it opens no port on this machine',
      '',
    ]);
    expect(renderSessions(exampleRoll(), { ...SHOWN, ended: true })).toMatch(/Idle .*\nEnded +Done with /u);
    expect(renderSessions(fakeRoll(1), SHOWN)).toBe('No session is alive, as far as is known.\n');
  });

  test('is cut to a terminal, and a title from outside commands nothing', () => {
    const evil = session(1, 'busy', {
      title: `\u001b[2J${'long '.repeat(60)}`,
      directory: `/home/me/${'deep/'.repeat(30)}x`,
    });
    const lines = renderSessions(fakeRoll(1, { servers: [], sessions: [evil] }), { ...SHOWN, width: 100 }).split('\n');
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(100);
    expect(lines[1]).toMatch(/^Busy +\ufffd\[2Jlong .*… +opencode :34801 +~.*…\/x +local +5m$/u);
  });

  test('--json has every promised name, and ended ones only when asked for', async () => {
    expect(sessionsJson(exampleRoll(), true).sessions.map(({ id }) => id)).toEqual([
      'ses_1abc',
      'ses_0abc',
      'ses_3abc',
      'ses_2abc',
      'ses_9abc',
    ]);
    const { out, opened, core } = await runCommand(sessions, 'sessions --json', exampleRoll());
    const json = JSON.parse(out);
    expect(json).toMatchObject({
      version: 1,
      takenAt: expect.any(String),
      unknown: [{ server: expect.any(String), host: 'local', kind: 'codex', pid: 4712, why: expect.any(String) }],
    });
    expect(json.sessions).toEqual([BUSY, WAITING, LATER, EARLIER]);
    expect([opened, core.ran.map(({ command }) => command.command)]).toEqual([[['read', { hears: true }]], ['look']]);
    expect((await runCommand(sessions, 'sessions --json', exampleRoll(), { origin: 'local' })).core.ran).toEqual([]);
  });

  test('list has a figure of them where there is room, and is otherwise as it was', () => {
    const options = { width: null, colour: false, home: '/home/me', now: NOW };
    const whole = renderRoll(exampleRoll(), options).split('\n');
    expect(whole[1]).toMatch(/ Age +Sessions +Directory$/u);
    expect(whole.find((line) => line.includes('4711'))).toMatch(/ 4, 1 busy +\/srv\/project$/u);
    expect(whole.find((line) => line.includes('4712'))).toMatch(/ – +\/srv\/project$/u);
    const width = Math.max(...whole.map(displayWidth));
    expect(renderRoll(exampleRoll(), { ...options, width })).toBe(whole.join('\n'));
    expect(renderRoll(exampleRoll(), { ...options, width: width - 1 })).not.toContain('Sessions');
    const none = exampleRoll({ servers: [fakeServer(4711, 'owned')] });
    expect(renderRoll(none, options)).not.toContain('Sessions');
    expect(rollFingerprint(none)).not.toBe(
      rollFingerprint(
        exampleRoll({ servers: [fakeServer(4711, 'owned', { sessions: { known: true, live: 1, busy: 0 } })] }),
      ),
    );
    expect(listJson(exampleRoll()).sessions).toHaveLength(5);
  });
});

describe('a session is named', () => {
  const all = exampleRoll().sessions;
  test('by its id, its key, or the beginning of either', () => {
    for (const word of ['ses_1abc', 'ses_1', BUSY.key]) {
      expect(findSession(all, word)).toEqual({ found: 'session', session: BUSY });
    }
    // What has ended is found where nothing that lives is meant.
    expect(findSession(all, 'ses_9')).toEqual({ found: 'session', session: OVER });
    // A whole id comes before the beginning of another.
    const longer = session(4, 'idle', { id: 'ses_1abcd' });
    expect(findSession([longer, ...all], 'ses_1abc')).toEqual({ found: 'session', session: BUSY });
  });
  test('and which could be meant is said', () => {
    expect(findSession(all, 'ses_')).toEqual({
      found: 'nothing',
      text: 'ses_ could be ses_2abc (Session 2 on local), ses_3abc (Untitled session on local), ses_1abc (Port the tests on local), ses_0abc (Session 0 on local). Give more of it.',
    });
    const there = session(5, 'idle', { id: BUSY.id, host: 'build-01' });
    expect(findSession([BUSY, there], BUSY.id)).toMatchObject({
      text: expect.stringContaining(`${there.key} (Session 5 on build-01)`),
    });
    expect(findSession(all, 'nobody')).toMatchObject({ text: expect.stringContaining('No session is called nobody') });
  });
});

describe('rollcall abort and end', () => {
  test('ask first, and say what runs at the end', async () => {
    const hooked = exampleRoll({ settings: { ...exampleRoll().settings, hooks: 2 } });
    const asked = await runCommand(end, 'end ses_2', hooked, { answer: true });
    expect(asked.err).toBe(
      'It counts as ended until it is used again. Its 2 session-end hooks run.\nEnd session “Session 2” on opencode :4096?\n',
    );
    expect(ran(asked)).toEqual([{ command: 'end-session', session: EARLIER.key, force: false }]);
    expect(asked).toMatchObject({ code: 0, out: 'Done.\n', opened: [['act', { hears: true }]] });
    const no = await runCommand(end, 'end ses_2', hooked, { answer: false });
    expect([no.code, ran(no)]).toEqual([1, []]);
  });

  test('off a terminal need --yes, and a busy one --force', async () => {
    const bare = await runCommand(abort, 'abort ses_1abc', exampleRoll());
    expect(bare).toMatchObject({ code: 1, out: '' });
    expect(bare.err).toBe(
      'Session “Port the tests” was not interrupted. What it does is interrupted. Add --yes to interrupt it without being asked.\n',
    );
    const yes = await runCommand(abort, 'abort ses_1abc --yes --json', exampleRoll());
    expect(JSON.parse(yes.out)).toEqual({ ok: true, message: 'Done.', session: { key: BUSY.key, id: BUSY.id } });
    expect(ran(yes)).toEqual([{ command: 'abort-session', session: BUSY.key }]);
    const busy = await runCommand(end, 'end ses_1abc --yes', exampleRoll());
    expect([busy.code, ran(busy)]).toEqual([1, []]);
    expect(busy.err).toContain('It is busy: what it does is interrupted. Add --force to end it anyway.');
    const forced = await runCommand(end, 'end ses_1abc --yes --force', exampleRoll());
    expect(ran(forced)).toEqual([{ command: 'end-session', session: BUSY.key, force: true }]);
  });

  test('do nothing to what has ended, does nothing, or could be another', async () => {
    for (const [line, why] of [
      ['end ses_9abc --yes', 'Session “Done with” was not ended. It has ended.'],
      ['abort ses_2abc --yes', 'Session “Session 2” was not interrupted. It does nothing that could be interrupted.'],
      ['abort ses_ --yes', 'Nothing was interrupted. ses_ could be'],
    ] as const) {
      const refused = await runCommand(line.startsWith('end') ? end : abort, line, exampleRoll());
      expect([refused.code, ran(refused)], line).toEqual([1, []]);
      expect(refused.err).toContain(why);
    }
    await expect(runCommand(end, 'end ses', exampleRoll())).rejects.toThrow(UsageError);
  });

  test('a core of the command’s own waits for what the server says of the session', async () => {
    const unheard = session(1, 'unknown', { abort: { allowed: 'no', why: 'It does nothing.' } });
    const told = await runCommand(abort, 'abort ses_1abc --yes', exampleRoll({ sessions: [unheard] }), {
      origin: 'local',
      set: (core) => {
        const { subscribe } = core;
        core.subscribe = (listener) => {
          queueMicrotask(() => core.push(exampleRoll({ sessions: [BUSY] })));
          return subscribe.call(core, listener);
        };
      },
    });
    expect(ran(told)).toEqual([{ command: 'abort-session', session: BUSY.key }]);
  });
});

test('rollcall idle sets the time or takes it away, and says who keeps it', async () => {
  const server = fakeServer(4711, 'supervised');
  const set = {
    set: (core: CommandRan['core']) => {
      core.onExplain = async (word) => ({
        server: word === '4711' ? server : null,
        leftover: fakeLeftover(9),
        text: '',
      });
    },
  };
  const minutes = await runCommand(idle, 'idle 4711 30', exampleRoll(), { ...set, origin: 'local' });
  expect(ran(minutes)).toEqual([{ command: 'set-idle', server: server.id, minutes: 30 }]);
  expect(minutes.err).toBe('The Rollcall app sees to it, and it does not run now.\n');
  const never = await runCommand(idle, 'idle 4711 never --json', exampleRoll(), set);
  expect(ran(never)).toEqual([{ command: 'set-idle', server: server.id, minutes: null }]);
  expect([JSON.parse(never.out), never.err]).toEqual([{ ok: true, message: 'Done.', idleMinutes: null }, '']);
  expect(await runCommand(idle, 'idle 9 30', exampleRoll(), set)).toMatchObject({ code: 1, out: '' });
  for (const word of ['0', '10081', '1.5', 'soon']) {
    await expect(runCommand(idle, `idle 4711 ${word}`, exampleRoll(), set), word).rejects.toThrow(UsageError);
  }
});

test('rollcall hooks tells what has failed, and has it run again or forgotten', async () => {
  const alert = {
    id: 'hooks',
    level: 'fault',
    title: 'A session-end hook did not run for “Port the tests”',
    detail: 'Notify: it ended with 1 after 4 attempts.',
    act: 'retry-hooks',
    servers: [],
  } satisfies Alert;
  const failed = exampleRoll({ alerts: [alert] });
  const told = await runCommand(hooks, 'hooks', failed);
  expect(told.out).toMatch(/^A session-end hook did not run for .*4 attempts\.\n.*hooks --retry .*\n$/u);
  expect(JSON.parse((await runCommand(hooks, 'hooks --json', failed)).out)).toMatchObject({
    version: 1,
    configured: 0,
    failed: { title: alert.title, detail: alert.detail },
  });
  const well = await runCommand(hooks, 'hooks', exampleRoll());
  expect([well.out, well.opened]).toEqual([
    'No session-end hook has failed; none is configured.\n',
    [['read', undefined]],
  ]);
  for (const [option, command] of [
    ['retry', 'retry-hooks'],
    ['forget', 'forget-hooks'],
  ] as const) {
    const done = await runCommand(hooks, `hooks --${option}`, failed);
    expect([done.code, done.out, ran(done), done.opened[0]?.[0]]).toEqual([0, 'Done.\n', [{ command }], 'act']);
  }
  await expect(runCommand(hooks, 'hooks --retry --forget', failed)).rejects.toThrow(UsageError);
});

test('rollcall audit shows only what is asked for, also of what is gone, and no secret', async () => {
  const folder = temporaryFolder();
  const sessionsFile = join(folder, 'sessions.jsonl');
  const auditFile = join(folder, 'audit.jsonl');
  const ledger = SessionLedger.open(sessionsFile);
  const life = someLife(1);
  ledger.begin([life]);
  ledger.end([{ key: life.key, ending: CRASHED, hooks: [] }]);
  ledger.close();
  const { identity } = someRef(4711);
  const file = new AuditFile(auditFile);
  file.note({ event: 'ready', by: 'app', pid: 4711, identity, subject: 'opencode', text: 'it is ready' });
  file.note({
    event: 'session-ended',
    by: 'app',
    session: life.key,
    subject: 's',
    text: 'OPENAI_API_KEY=sk-secret1234',
  });
  file.note({ event: 'ready', by: 'app', host: 'build-01', pid: 4712, subject: 'codex', text: 'it is ready' });
  const events = async (line: string): Promise<string[]> => {
    const { out } = await runCommand(audit, `audit --json ${line}`.trim(), exampleRoll(), { auditFile, sessionsFile });
    expect(out).not.toContain('sk-secret');
    return JSON.parse(out).entries.map(({ subject }: { subject: string }) => subject);
  };
  expect(await events('')).toEqual(['opencode', 's', 'codex']);
  expect(await events('--host build-01')).toEqual(['codex']);
  expect(await events('--server 4711')).toEqual(['opencode']);
  expect(await events(`--server ${idOf(identity).slice(0, 6)}`)).toEqual(['opencode']);
  expect(await events(`--session ${life.id}`)).toEqual(['s']);
  expect(await events(`--session ${life.key.slice(0, 8)} --limit 1`)).toEqual(['s']);
  // The newest of those that are meant, not those that are meant among the newest.
  expect(await events('--host local --limit 1')).toEqual(['s']);
  expect((await runCommand(audit, 'audit --host mac', exampleRoll(), { auditFile, sessionsFile })).out).toBe(
    'The audit says nothing of that.\n',
  );
});

test('a command that only reads knows what the ledger says, and changes nothing of it', () => {
  const path = join(temporaryFolder(), 'sessions.jsonl');
  expect(viewLedger(path).lives.open().size).toBe(0);
  const ledger = SessionLedger.open(path);
  const hook = someHook('notify');
  ledger.begin([someLife(1), someLife(2)]);
  ledger.end([{ key: someLife(1).key, ending: CRASHED, hooks: [hook] }]);
  const miss = { at: '2026-05-01T11:00:02.000Z', why: 'it ended with 1', output: 'no', failures: 4, final: true };
  ledger.missed(hookKeyOf(someLife(1).life, hook.id), miss);
  ledger.close();
  const view = viewLedger(path);
  expect([...view.lives.open().keys()]).toEqual([someLife(2).key]);
  view.lives.end([{ life: someLife(2), ending: CRASHED }]);
  expect(view.lives.open().size).toBe(1);
  expect(view.lives.recentlyEnded()).toEqual([{ life: someLife(1), ending: CRASHED }]);
  expect(failuresIn(view, [])).toMatchObject([{ hook: 'notify', why: 'it ended with 1', failures: 4 }]);
  writeFileSync(path, 'no ledger\n');
  expect(viewLedger(path).failed()).toEqual([]);
});
