import { describe, expect, test } from 'vitest';
import { type FakeCore, fakeLeftover, fakeRoll, fakeServer } from '../control/fake-core.testing.ts';
import type { CommandResult } from '../roll/commands.ts';
import type { HostEntry, Roll, SshEntry } from '../roll/schema.ts';
import { clear } from './clear.ts';
import { explain } from './explain.ts';
import { connect, disconnect, hosts, stopQuestion } from './hosts.ts';
import { type CommandRun, type CoreHandle, UsageError } from './io.ts';
import { list } from './list.ts';
import { log } from './log.ts';
import { reap } from './reap.ts';
import { records } from './records.ts';
import { hostsJson, renderHosts } from './render-hosts.ts';
import { renderRoll } from './render-roll.ts';
import { type CommandRan, runCommand } from './run-command.testing.ts';
import { start } from './start.ts';
import { stop } from './stop.ts';
import { hostWord, rollOfHost, rowHost } from './where.ts';

const NOW = Date.parse('2026-01-02T08:16:05.000Z');

function host(
  name: string,
  state: HostEntry['state'],
  ssh: Partial<SshEntry> = {},
  over: Partial<HostEntry> = {},
): HostEntry {
  const [local] = fakeRoll(1).hosts;
  if (local === undefined) throw new Error('the roll has no host');
  return {
    ...local,
    id: `ssh ${name}`,
    name,
    state,
    ssh: {
      alias: name,
      saved: true,
      connect: 'at-start',
      sharedWith: null,
      target: `dev@${name}.example.net:22`,
      steps: [],
      attempt: 0,
      retryAt: null,
      failure: null,
      ...ssh,
    },
    ...over,
  };
}

const DENIED = {
  step: 'authentication',
  code: 'permission-denied',
  message: 'web-eu did not let dev in.',
  remedy: 'Check the key.',
  output: 'Permission denied (publickey).',
};
const RECORD = {
  source: 'rollcall',
  path: '/home/dev/r.json',
  pid: 4711,
  verdict: 'reused',
  detail: 'names PID 4711, which is now postgres',
  clearable: true,
  keptBecause: null,
  sha256: 'ab',
  kind: 'opencode',
  directory: null,
  writtenAt: null,
} as const;

const SUPERVISED = {
  recordPath: '/home/dev/r2.json',
  keepRunning: true,
  logPath: null,
  nonceSeen: true,
  state: 'ready',
  idleMinutes: null,
  idleStopAt: null,
  outdated: null,
} as const;

function exampleRoll(): Roll {
  const [local] = fakeRoll(1).hosts;
  if (local === undefined) throw new Error('the roll has no host');
  return fakeRoll(1, {
    hosts: [
      local,
      host('build-01', 'connected'),
      host('web-eu', 'failed', { failure: DENIED }, { lookedAt: null }),
      host('mac', 'reconnecting', { attempt: 3, retryAt: '2026-01-02T08:16:13.000Z' }),
      host('build-lan', 'connected', { sharedWith: 'build-01', alias: 'build-01.lan' }),
    ],
    servers: [
      fakeServer(4711, 'leaked'),
      fakeServer(5001, 'leaked', { host: 'build-01' }),
      fakeServer(5002, 'supervised', {
        host: 'build-01',
        busy: 'busy',
        stop: { allowed: 'yes' },
        supervised: SUPERVISED,
      }),
    ],
    leftovers: [fakeLeftover(5003, { host: 'build-01' })],
    records: [
      { ...RECORD, host: 'local', path: '/home/me/r.json' },
      { ...RECORD, host: 'build-01' },
    ],
  });
}

/** Runs a command over a fake core as the command line would. */
const run = (
  entry: CommandRun,
  line: string,
  set: (core: FakeCore) => void = () => undefined,
  origin: CoreHandle['origin'] = 'app',
): Promise<CommandRan> => runCommand(entry, line, exampleRoll(), { set, origin });

const ran = ({ core }: CommandRan): readonly unknown[] => core.ran.map(({ command }) => command);
const unreachable: CommandResult = {
  ok: false,
  failure: { code: 'name-not-found', message: 'The name nowhere was not found.', remedy: 'Check it.', detail: null },
  results: [],
};
const fails = (core: FakeCore): void => {
  core.onRun = async () => unreachable;
};

describe('rollcall hosts', () => {
  test('one line each, with what the columns do not say below it', () => {
    const text = renderHosts(exampleRoll(), { width: null, now: NOW });
    expect(text).toMatch(/^Host +State +Alias +Leads to +Servers +Leaked\nlocal +connected +– +– +1 +1\n/u);
    expect(text).toMatch(/build-01 +connected +build-01 +dev@build-01\.example\.net:22 +2 +1\n/u);
    expect(text).toMatch(/web-eu +failed: sign-in +.* – +–\n {2}web-eu did not let dev in\. Check the key\.\n/u);
    expect(text).toMatch(/mac +reconnecting in 8 s .*\n {2}Attempt 3 in 8 s\.\n/u);
    expect(text).toMatch(
      /build-lan +same machine as build-01 +build-01\.lan .* – +–\n {2}build-lan is the same machine/u,
    );
    expect(text).not.toContain('Permission denied (publickey)');
  });

  test('--json has every promised name, and why one failed', async () => {
    const { code, out } = await run(hosts, 'hosts --json');
    const json = JSON.parse(out);
    expect(code).toBe(0);
    expect(json.version).toBe(1);
    expect(json.hosts[2]).toMatchObject({
      name: 'web-eu',
      state: 'failed',
      alias: 'web-eu',
      target: 'dev@web-eu.example.net:22',
      saved: true,
      connect: 'at-start',
      sharedWith: null,
      servers: 0,
      leaked: 0,
      failure: { step: 'authentication', code: 'permission-denied', output: 'Permission denied (publickey).' },
    });
    expect(hostsJson(exampleRoll())[1]).toMatchObject({ servers: 2, leaked: 1 });
    expect(hostsJson(exampleRoll())[0]).toMatchObject({ alias: null, saved: true, connect: null, failure: null });
  });

  test('a list says of each host what it is, and of one never looked at no more than that', () => {
    const text = renderRoll(exampleRoll(), { width: null, colour: false, home: '/home/me', now: NOW });
    expect(text).toMatch(/\nweb-eu, failed: sign-in\nweb-eu did not let dev in\. Check the key\.\n/u);
    expect(text).toMatch(/\nmac, 0 servers, reconnecting in 8 s, /u);
    expect(text).toMatch(/\nbuild-lan, same machine as build-01\n/u);
    expect(text).toContain('/home/dev/r.json on build-01');
  });
});

describe('rollcall connect', () => {
  test('says each step as it is done, then what came of it; any alias will do', async () => {
    const result = await run(connect, 'connect web-eu', (core) => {
      core.onRun = async () => {
        const steps: SshEntry['steps'] = [
          { step: 'name', state: 'done', detail: '203.0.113.24' },
          { step: 'port', state: 'running', detail: null },
        ];
        core.push({ ...core.roll, hosts: [host('web-eu', 'connecting', { steps })] });
        core.push({ ...core.roll, hosts: [host('web-eu', 'connecting', { steps })] });
        const question = { id: 'q', host: 'web-eu', type: 'code' as const, text: '', fingerprint: null, keyPath: null };
        const asked = { ...question, attempt: 1, until: '2026-01-02T08:18:00.000Z' };
        core.push({ ...core.roll, hosts: [host('web-eu', 'authenticating', { steps })], questions: [asked] });
        core.push({ ...core.roll, hosts: [host('web-eu', 'authenticating', { steps })] });
        core.push({ ...core.roll, hosts: [host('web-eu', 'connected')], questions: [] });
        return { ok: true, message: 'web-eu is connected.', server: null, results: [] };
      };
    });
    expect(result).toMatchObject({ code: 0, out: 'web-eu is connected.\n' });
    expect(result.err).toBe(
      'Look up the name: 203.0.113.24\nweb-eu waits for a one-time code. The Rollcall window asks for it.\n',
    );
    expect(ran(result)).toEqual([{ command: 'connect', host: 'web-eu' }]);
    expect(ran(await run(connect, 'connect dev@10.0.4.17:2222'))).toEqual([
      { command: 'connect', host: 'ssh://dev@10.0.4.17:2222' },
    ]);
  });

  test('a failure is one sentence and what to do, with code 1; without the app it says that nothing is kept', async () => {
    expect(await run(connect, 'connect nowhere', fails)).toMatchObject({
      code: 1,
      err: 'The name nowhere was not found. Check it.\n',
    });
    const json = await run(connect, 'connect nowhere --json', fails);
    expect(JSON.parse(json.out)).toMatchObject({ ok: false, failure: { code: 'name-not-found' }, host: null });
    expect((await run(connect, 'connect web-eu', undefined, 'local')).err).toContain('ends with this command');
  });
});

describe('rollcall disconnect', () => {
  test('leaves servers alone; without the app there is nothing to leave', async () => {
    expect(ran(await run(disconnect, 'disconnect build-01'))).toEqual([
      { command: 'disconnect', host: 'build-01', stopServers: false },
    ]);
    const alone = await run(disconnect, 'disconnect build-01', undefined, 'local');
    expect(alone.code).toBe(1);
    expect(ran(alone)).toEqual([]);
  });

  test('--stop asks with what stops, and off a terminal needs --yes', async () => {
    const refused = await run(disconnect, 'disconnect build-01 --stop');
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.err).toContain('this stops 1 server on build-01. Add --yes');
    expect(ran(refused)).toEqual([{ command: 'look', host: 'build-01' }]);
    expect(ran(await run(disconnect, 'disconnect build-01 --stop --yes'))).toEqual([
      { command: 'look', host: 'build-01' },
      { command: 'disconnect', host: 'build-01', stopServers: true },
    ]);
    const { servers } = exampleRoll();
    expect(stopQuestion('build-01', servers.slice(2))).toBe(
      '  opencode :34801, PID 5002, 131 MB, busy\n131 MB freed, 1 busy\nDisconnect build-01 and stop 1 server?',
    );
  });
});

describe('--host', () => {
  test('a PID is one of that host, which is looked at first; an id needs no host', async () => {
    const asked: (string | null)[] = [];
    const note = (core: FakeCore): void => {
      core.onExplain = async (_target, on) => {
        asked.push(on);
        return { server: null, leftover: null, text: 'No process has PID 5001.' };
      };
    };
    const there = await run(explain, 'explain 5001 --host build-01', note);
    expect(ran(there)).toEqual([{ command: 'look', host: 'build-01' }]);
    expect(ran(await run(explain, 'explain 5001', note))).toEqual([]);
    await run(stop, 'stop 5001 --host build-01', note);
    await run(reap, 'reap 5001 --host build-01 --yes', note);
    await run(log, 'log 5001 --host build-01', note);
    expect(asked).toEqual(['build-01', null, 'build-01', 'build-01', 'build-01']);
  });

  test('records beside a PID are those of its host alone', async () => {
    const json = JSON.parse((await run(explain, 'explain 4711 --host build-01 --json')).out);
    expect(json.records.map(({ path }: { path: string }) => path)).toEqual(['/home/dev/r.json']);
    expect(JSON.parse((await run(explain, 'explain 4711 --json')).out).records[0].path).toBe('/home/me/r.json');
  });

  test.each([
    [explain, 'explain 5001 --host nowhere'],
    [stop, 'stop 5001 --host nowhere'],
    [reap, 'reap 5001 --host nowhere --yes'],
    [reap, 'reap --all --host nowhere --yes'],
    [log, 'log 5001 --host nowhere'],
    [list, 'list --host nowhere'],
    [records, 'records --host nowhere'],
    [clear, 'clear /r.json --host nowhere'],
  ])('a host that cannot be reached fails the command and says why (%#)', async (entry, line) => {
    const result = await run(entry, line, fails);
    expect(result.code).toBe(1);
    expect(result.err).toContain('The name nowhere was not found. Check it.');
    expect(ran(result)).toEqual([{ command: 'look', host: 'nowhere' }]);
  });

  test('reap --all takes the leaked rows of that host and no others', async () => {
    const row = (n: number, on: string) => ({
      id: n.toString(16).padStart(16, '0'),
      label: `opencode on ${on}`,
      host: on,
      standing: 'leaked' as const,
      ownerLabel: null,
      memoryBytes: 100,
      refusal: null,
      needsForce: false,
      consequences: [],
      steps: [],
    });
    const plan = { rows: [row(1, 'local'), row(2, 'build-01')], freesBytes: 200, processes: 2, busy: 0 };
    // Two names of one machine: its rows are those of the one that has the connection.
    for (const name of ['build-01', 'build-lan', 'build-01.lan']) {
      const result = await run(reap, `reap --all --host ${name} --yes`, (core) => {
        core.onPlan = async () => plan;
      });
      expect(ran(result).at(-1)).toMatchObject({ command: 'reap', targets: [row(2, '').id], confirmed: false });
    }
  });

  test('start takes a folder of that host, its home when none is named', async () => {
    expect(ran(await run(start, 'start opencode --host build-01 --dir /srv/shop'))).toMatchObject([
      { command: 'start', host: 'build-01', directory: '/srv/shop' },
    ]);
    expect(ran(await run(start, 'start opencode --host build-01'))).toMatchObject([{ directory: '~' }]);
    await expect(run(start, 'start opencode --host build-01 --dir shop')).rejects.toBeInstanceOf(UsageError);
    const here = ran(await run(start, 'start opencode --dir shop'));
    expect(here).toMatchObject([{ directory: '/home/me/src/shop' }]);
    expect(here[0]).not.toHaveProperty('host');
  });

  test('list and records show that host alone; clear moves its record', async () => {
    const listed = await run(list, 'list --host build-01');
    expect(listed.out).toMatch(/^build-01, 2 servers, 1 leaked, /u);
    expect(listed.out).not.toContain('local');
    expect((await run(records, 'records --host build-01')).out).not.toContain('/home/me');
    expect(ran(await run(clear, 'clear /home/dev/r.json --host build-01')).at(-1)).toEqual({
      command: 'clear',
      path: '/home/dev/r.json',
      sha256: 'ab',
      host: 'build-01',
    });
    expect((await run(clear, 'clear /home/dev/r.json')).code).toBe(1);
  });

  test('a name that ssh would take for an option is refused before anything is asked', async () => {
    expect(() => hostWord('-oProxyCommand=x')).toThrow(UsageError);
    expect(() => hostWord(' ')).toThrow(UsageError);
    await expect(run(list, 'list --host=-x')).rejects.toBeInstanceOf(UsageError);
    expect(rowHost(exampleRoll(), 'build-01.lan')).toBe('build-01');
    expect(rollOfHost(exampleRoll(), 'build-lan').hosts.map(({ name }) => name)).toEqual(['build-01', 'build-lan']);
  });
});
