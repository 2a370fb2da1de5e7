/** Session-end hooks as real processes: each runs once, whatever happens to whoever runs it, and nothing of it stays. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { AuditInput } from '../../audit/audit.ts';
import type { SessionEndHook } from '../../config/schema.ts';
import type { Host } from '../../hosts/host.ts';
import { bundle } from '../../hosts/local/testing/bundle.ts';
import { testHost } from '../../hosts/local/testing/hosts.ts';
import { isAlive, temporaryFolder, until } from '../../hosts/local/testing/processes.ts';
import { SHELLS, type TestShell } from '../../hosts/ssh/testing/shells.ts';
import { CRASHED, someLife } from '../session-run.testing.ts';
import { SessionLedger } from '../store/ledger.ts';
import { type HookBudgets, Hooks } from './hooks.ts';

const BUDGETS: HookBudgets = { atOnce: 4, graceSeconds: 0.4, slackMs: 3000, pausesMs: [20, 20, 20], unwrittenMs: 50 };

let folder: string;
let host: Host;
let lines: AuditInput[];
let opened: Hooks[];
let env: Record<string, string | undefined>;
beforeEach(async () => {
  folder = temporaryFolder();
  host = await testHost();
  lines = [];
  opened = [];
  env = { PATH: process.env['PATH'], HOME: folder, OUT: join(folder, 'ran'), OWN: 'mine', ROLLCALL_NONCE: 'x' };
  mkdirSync(join(folder, 'project'));
});
afterEach(async () => {
  for (const hooks of opened) hooks.close();
  // Whatever a test did, no process of a hook is left: each has the folder in its arguments.
  await noneOf(folder);
});

/** What got SIGKILL with its leader is gone a moment after it. */
async function noneOf(text: string): Promise<void> {
  await until(`no process has "${text}" in its arguments`, () => processesOf(text).length === 0);
}

function processesOf(text: string): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const line = /^\d+$/u.test(pid) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') : '';
      return line.includes(text) && isAlive(Number(pid)) ? [line.slice(0, 200)] : [];
    } catch {
      return []; // it has just ended
    }
  });
}

/** A hook that runs a line of shell, whose $0 is the test's folder. */
function sh(line: string, change: Partial<SessionEndHook> = {}): SessionEndHook {
  return { command: ['/bin/sh', '-c', line, folder], timeoutSeconds: 60, ...change };
}

/** A piece of a hook that waits for `letGo`. */
const ONCE_LET_GO = 'until [ -e "$0/go" ]; do sleep 0.05; done';

function letGo(): void {
  writeFileSync(join(folder, 'go'), '');
}

function openLedger(): SessionLedger {
  const ledger = SessionLedger.open(join(folder, 'sessions.jsonl'));
  onTestFinished(() => ledger.close());
  return ledger;
}

function open(ledger: SessionLedger, configured: readonly SessionEndHook[], budgets: Partial<HookBudgets> = {}): Hooks {
  const note = (input: AuditInput): void => void lines.push(input);
  const hooks = new Hooks({
    ledger,
    host,
    audit: { write: note, note },
    by: 'app',
    folder: join(folder, 'hooks'),
    env,
    home: folder,
    configured: () => configured,
    onChange: () => undefined,
    budgets: { ...BUDGETS, ...budgets },
  });
  opened.push(hooks);
  return hooks;
}

/** Ends a session whose hooks are then due. */
function endSession(ledger: SessionLedger, configured: readonly SessionEndHook[], number = 1, change = {}): void {
  const life = someLife(number, { directory: join(folder, 'project'), ...change });
  ledger.begin([life]);
  const refs = new Hooks({ ...NOTHING, configured: () => configured }).hooksFor(life);
  ledger.end([{ key: life.key, ending: CRASHED, hooks: refs }]);
}
const NOTHING = {
  ledger: SessionLedger.open('/nowhere/sessions.jsonl'),
  host: {
    inspect: async () => null,
    hold: async () => Promise.reject(new Error('unused')),
    watchExit: () => () => undefined,
  },
  audit: { write: () => undefined, note: () => undefined },
  by: 'app',
  folder: '/nowhere',
  env: {},
  home: '/',
  onChange: () => undefined,
};

const ran = (): string[] =>
  existsSync(join(folder, 'ran')) ? readFileSync(join(folder, 'ran'), 'utf8').trimEnd().split('\n') : [];

test('a hook is given the session on its standard input, in its environment and as its folder', async () => {
  const ledger = openLedger();
  const hook = sh('cat >"$0/input"; env -0 >"$0/env"; pwd -P >"$0/cwd"; umask >"$0/umask"; echo x >>"$OUT"');
  const others = [
    sh('echo other >>"$OUT"', { kinds: ['codex'] }),
    sh('echo other >>"$OUT"', { hosts: ['build-01'] }),
    // Named twice, it still runs once.
    { ...hook },
  ];
  const hooks = open(ledger, [hook, ...others]);
  endSession(ledger, [hook, ...others], 1, { title: 'Say "hi" \\ to\tall' });
  expect(hooks.due).toBe(1);
  hooks.pump();
  expect(await hooks.settled(60_000)).toBe(true);
  const [life] = ledger.recentlyEnded().map((one) => one.life);
  const event = JSON.parse(readFileSync(join(folder, 'input'), 'utf8'));
  expect(event).toEqual({
    event: 'session-end',
    key: life?.key,
    session: 'ses_1',
    session_id: 'ses_1',
    kind: 'opencode',
    host: 'local',
    directory: join(folder, 'project'),
    title: 'Say "hi" \\ to\\tall',
    reason: 'server-crashed',
    detail: 'its server crashed',
    startedAt: '2026-05-01T10:00:00.000Z',
    endedAt: CRASHED.at,
    hookKey: expect.stringMatching(new RegExp(`^${life?.life}\\.[0-9a-f]{16}$`, 'u')),
  });
  const given = new Map(
    readFileSync(join(folder, 'env'), 'utf8')
      .split('\0')
      .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)] as const),
  );
  expect([given.get('OWN'), given.get('ROLLCALL_NONCE')]).toEqual(['mine', undefined]);
  const named = Object.entries(event).map(([name, value]) => [
    `ROLLCALL_${name.replaceAll(/[A-Z]/gu, '_$&').toUpperCase()}`,
    value,
  ]);
  expect([...given].filter(([name]) => name.startsWith('ROLLCALL_')).sort()).toEqual(named.sort());
  expect(given.get('ROLLCALL_HOOK_KEY')).toBe(event.hookKey);
  expect(readFileSync(join(folder, 'cwd'), 'utf8').trim()).toBe(realpathSync(join(folder, 'project')));
  expect(readFileSync(join(folder, 'umask'), 'utf8').trim()).toMatch(/22$/u);
  expect(ran()).toEqual(['x']);
  expect(lines).toEqual([
    expect.objectContaining({
      event: 'hook-done',
      host: 'local',
      session: life?.key,
      text: expect.stringContaining('has run for'),
    }),
  ]);
  expect([readdirSync(join(folder, 'hooks')), openLedger().due(), hooks.failures()]).toEqual([[], [], []]);
  // A folder that is gone, or on another machine, is none to run in.
  for (const [number, change] of [
    [2, { directory: '/gone' }],
    [3, { host: 'build-02' }],
  ] as const) {
    endSession(ledger, [hook], number, change);
    hooks.pump();
    expect(await hooks.settled(60_000)).toBe(true);
    expect(readFileSync(join(folder, 'cwd'), 'utf8').trim()).toBe(realpathSync(folder));
  }
});

test('one that fails twice and then succeeds has run three times, and nothing of it is a failure', async () => {
  const ledger = openLedger();
  const hook = sh('echo x >>"$OUT"; [ $(wc -l <"$OUT") -ge 3 ]');
  const hooks = open(ledger, [hook]);
  endSession(ledger, [hook]);
  hooks.pump();
  expect(await hooks.settled(60_000)).toBe(true);
  expect([ran(), hooks.failures(), lines.map(({ event }) => event)]).toEqual([['x', 'x', 'x'], [], ['hook-done']]);
});

test('one that fails four times is shown with its last words, until it is run again or forgotten', async () => {
  const ledger = openLedger();
  const hook = sh(
    'echo x >>"$OUT"; echo "--token=abcdef123456"; echo "no such host" >&2; [ -e "$0/mended" ] || exit 7',
  );
  const hooks = open(ledger, [hook]);
  endSession(ledger, [hook], 1);
  hooks.pump();
  expect(await hooks.settled(60_000)).toBe(true);
  expect(ran()).toHaveLength(4);
  const failure = { why: expect.stringContaining('7'), output: '--token=•••\nno such host', failures: 4 };
  expect(hooks.failures()).toEqual([expect.objectContaining(failure)]);
  expect(lines).toMatchObject([{ event: 'hook-failed', subject: 'Session 1', text: expect.stringContaining('4') }]);
  // Whoever comes next sees the same.
  const next = openLedger();
  expect(open(next, [hook]).failures()).toEqual(hooks.failures());
  open(next, [hook]).forget();
  expect([next.failed(), openLedger().failed()]).toEqual([[], []]);
  writeFileSync(join(folder, 'mended'), '');
  hooks.retry();
  expect(await hooks.settled(60_000)).toBe(true);
  expect([ran().length, hooks.failures(), readdirSync(join(folder, 'hooks'))]).toEqual([5, [], []]);
});

test('one that hangs is ended with its whole group, also where it will not be asked; one that is absent is said to be', async () => {
  const ledger = openLedger();
  const asked = sh('sleep 77 & echo hanging; sleep 77; :', { timeoutSeconds: 1 });
  const stubborn = sh("trap '' TERM; sleep 77 & sleep 77; sleep 77", { timeoutSeconds: 1 });
  const absent: SessionEndHook = { command: ['rollcall-no-such-program', folder], timeoutSeconds: 20 };
  const hooks = open(ledger, [asked, stubborn, absent], { pausesMs: [] });
  endSession(ledger, [asked, stubborn, absent]);
  hooks.pump();
  expect(await hooks.settled(60_000)).toBe(true);
  expect(hooks.failures().map(({ why, output }) => [why, output])).toEqual([
    [expect.stringContaining('1 s'), 'hanging'],
    [expect.stringContaining('1 s'), ''],
    [expect.stringContaining('127'), expect.stringContaining('rollcall-no-such-program')],
  ]);
  await noneOf('sleep 77');
  // Neither was signalled from here.
  expect(lines.filter(({ event }) => event === 'signal-intent')).toEqual([]);
});

test('a runner that cannot end itself any more is ended from here, with its group', async () => {
  const ledger = openLedger();
  const hook = sh('kill -STOP 0', { timeoutSeconds: 0.2 });
  const hooks = open(ledger, [hook], { pausesMs: [], slackMs: 300 });
  endSession(ledger, [hook]);
  hooks.pump();
  expect(await hooks.settled(60_000)).toBe(true);
  expect(hooks.failures()).toHaveLength(1);
  expect(lines.map(({ event, text }) => [event, text]).slice(0, 2)).toEqual([
    ['signal-intent', expect.stringContaining('SIGKILL')],
    ['signal-outcome', 'sent'],
  ]);
});

test('one that floods its output, or leaves something behind that holds it, is not harmed and does not last', async () => {
  const ledger = openLedger();
  const flood = sh('yes "$0 flood" | head -c 30000000; echo done >>"$OUT"; echo the end; exit 3');
  const holder = sh('(trap "" TERM; sleep 78) & echo held >>"$OUT"');
  const hooks = open(ledger, [flood, holder], { pausesMs: [] });
  endSession(ledger, [flood, holder]);
  hooks.pump();
  await until(
    'it floods',
    () => existsSync(join(folder, 'hooks')) && readdirSync(join(folder, 'hooks')).some((name) => name.endsWith('.out')),
  );
  for (const name of readdirSync(join(folder, 'hooks'))) {
    // A temporary file may have become a file meanwhile.
    const stats = statSync(join(folder, 'hooks', name), { throwIfNoEntry: false });
    expect((stats?.mode ?? 0) & 0o077).toBe(0);
  }
  expect(await hooks.settled(60_000)).toBe(true);
  expect(ran().sort()).toEqual(['done', 'held']);
  const [failure] = hooks.failures();
  expect(failure?.why).toBe('it ended with 3');
  // The flood was cut off in the middle of a line.
  expect(failure?.output).toMatch(/the end$/u);
  expect(hooks.failures()).toHaveLength(1);
  expect(failure?.output.length).toBeLessThan(7000);
  await noneOf('sleep 78');
});

test('at most four run at once', async () => {
  const ledger = openLedger();
  // None ends before four have begun, so that there is a moment in which all of them run.
  const hook = sh(
    'echo + >>"$OUT"; until [ "$(grep -c + "$OUT")" -ge 4 ]; do sleep 0.05; done; sleep 0.1; echo - >>"$OUT"',
  );
  for (let number = 1; number <= 8; number += 1) endSession(ledger, [hook], number);
  const hooks = open(ledger, [hook]);
  hooks.pump();
  hooks.pump();
  expect(await hooks.settled(60_000)).toBe(true);
  let most = 0;
  ran().reduce((now, sign) => {
    most = Math.max(most, sign === '+' ? now + 1 : now);
    return sign === '+' ? now + 1 : now - 1;
  }, 0);
  expect([ran().length, most]).toEqual([16, 4]);
});

test('one that the configuration does not name any more is not run, and is shown until it is named or forgotten', async () => {
  const ledger = openLedger();
  const hook = sh('echo x >>"$OUT"');
  endSession(ledger, [hook]);
  const without = open(ledger, []);
  without.pump();
  expect(await without.settled(60_000)).toBe(true);
  expect(without.failures()).toHaveLength(1);
  const named = open(ledger, [hook]);
  expect([named.failures(), named.due]).toEqual([[], 1]);
  named.pump();
  expect(await named.settled(60_000)).toBe(true);
  expect(ran()).toEqual(['x']);
});

test('what cannot be written down is not run until it can be, and what came of it is kept until that can be', async () => {
  const ledger = openLedger();
  const hook = sh('echo x >>"$OUT"; sleep 0.1');
  endSession(ledger, [hook]);
  const { flush } = ledger;
  let full = true;
  let tries = 0;
  ledger.flush = () => {
    tries += 1;
    return !full && flush.call(ledger);
  };
  const hooks = open(ledger, [hook]);
  hooks.pump();
  await until('it was tried several times', () => tries >= 3);
  expect(await hooks.settled(1)).toBe(false);
  expect(ran()).toEqual([]);
  full = false;
  await until('it runs', () => ran().length > 0);
  full = true;
  expect(await hooks.settled(60_000)).toBe(true);
  // Killed now, the next one finds on disk that it was begun, and its result.
  const next = openLedger();
  expect(next.due()).toHaveLength(1);
  const others = open(next, [hook]);
  others.pump();
  expect(await others.settled(60_000)).toBe(true);
  expect([ran(), next.due(), readdirSync(join(folder, 'hooks'))]).toEqual([['x'], [], []]);
});

test('on Windows none is due, and that is said', () => {
  const hooks = new Hooks({ ...NOTHING, configured: () => [sh('true')], platform: 'win32' });
  expect([hooks.hooksFor(someLife(1)), hooks.due, hooks.unsupported]).toEqual([
    [],
    0,
    'Session-end hooks are not run on Windows.',
  ]);
});

test('closed while a hook runs: the hook goes on, and the next one finds it done', async () => {
  const ledger = openLedger();
  const hook = sh(`echo begun >>"$OUT"; ${ONCE_LET_GO}; echo done >>"$OUT"`);
  const first = open(ledger, [hook]);
  endSession(ledger, [hook]);
  first.pump();
  await until('it runs', () => ran().length === 1);
  first.close();
  ledger.close();
  expect(await first.settled(60_000)).toBe(false);
  letGo();
  const next = open(openLedger(), [hook]);
  expect(next.due).toBe(1);
  next.pump();
  expect(await next.settled(60_000)).toBe(true);
  expect([ran(), lines.map(({ event }) => event)]).toEqual([['begun', 'done'], ['hook-done']]);
});

const program = await bundle({ entry: new URL('./hook-once.testing.ts', import.meta.url) });

test.each([
  ['between its spawn and the line that names it', 'before-attempt', null],
  ['between that line and the word that lets it go', 'after-attempt', null],
  ['while it runs', '', 'begun'],
  ['after it has ended', '', 'done'],
])('killed %s: the hook has run once', async (_, dies, when) => {
  const hook = sh(`echo begun >>"$OUT"; ${ONCE_LET_GO}; echo done >>"$OUT"`);
  if (when !== 'begun') letGo();
  const before = openLedger();
  endSession(before, [hook]);
  before.close();
  const child = spawn(process.execPath, [program.pathname, folder, JSON.stringify([hook]), dies], {
    env: { ...env, NODE_PATH: undefined },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const exited = new Promise((done) => child.once('exit', (_code, signal) => done(signal)));
  if (when !== null) {
    await until('it has come that far', () => ran().includes(when));
    child.kill('SIGKILL');
  }
  expect(await exited).toBe('SIGKILL');
  letGo();
  const next = open(openLedger(), [hook]);
  next.pump();
  expect(await next.settled(60_000)).toBe(true);
  expect([ran(), next.failures(), openLedger().due()]).toEqual([['begun', 'done'], [], []]);
});

test('a runner that is killed with its hook is run again: at least once, and no more attempts than are allowed', async () => {
  const ledger = openLedger();
  const hook = sh('echo x >>"$OUT"; [ $(wc -l <"$OUT") -lt 3 ] && kill -KILL 0; exit 0');
  const hooks = open(ledger, [hook]);
  endSession(ledger, [hook]);
  hooks.pump();
  expect(await hooks.settled(60_000)).toBe(true);
  expect([ran(), hooks.failures()]).toEqual([['x', 'x', 'x'], []]);
});

test('the script does the same under every shell', async () => {
  const script = join(folder, 'run-hook.sh');
  writeFileSync(script, readFileSync(new URL('./run-hook.sh', import.meta.url)));
  writeFileSync(join(folder, 'event.json'), '{"event":"session-end"}');
  const run = async (shell: TestShell, name: string, seconds: string, ...command: string[]): Promise<string> => {
    const [program, ...rest] = shell.argv.filter((arg) => arg !== '-s');
    const files = join(folder, `${shell.name} ${name}`);
    const child = spawn(
      program ?? '',
      [...rest, script, files, join(folder, 'event.json'), seconds, '0.3', ...command],
      { detached: true, stdio: ['pipe', 'ignore', 'ignore'], env: shell.path === null ? env : { PATH: shell.path } },
    );
    child.stdin?.end('go\n');
    await new Promise((done) => child.once('exit', done));
    return `${readFileSync(`${files}.result`, 'utf8').trim()}: ${readFileSync(`${files}.out`, 'utf8').trim()}`;
  };
  const shells = SHELLS.filter(({ missing }) => missing === null);
  expect(shells.length).toBeGreaterThan(0);
  for (const said of await Promise.all(
    shells.map((shell) =>
      Promise.all([
        run(shell, 'fine', '60', '/bin/cat'),
        run(shell, 'wrong', '60', '/bin/sh', '-c', 'echo no; exit 3'),
        run(shell, 'late', '1', '/bin/sh', '-c', 'echo late; sleep 79; :'),
        run(shell, 'killed', '60', '/bin/sh', '-c', 'echo killed; kill -KILL $$'),
      ]),
    ),
  )) {
    expect(said).toEqual(['exit 0: {"event":"session-end"}', 'exit 3: no', 'timeout: late', 'exit 137: killed']);
  }
  await noneOf('sleep 79');
});
