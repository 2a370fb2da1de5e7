/** Starting, stopping and adopting, with real processes behind an opencode that can be told to misbehave. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server as NetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AuditFile, readAudit } from '../audit/audit.ts';
import type { Host } from '../hosts/host.ts';
import { createLocalHost } from '../hosts/local/local-host.ts';
import { inlineLooker } from '../hosts/local/look/looker.ts';
import { refOf } from '../hosts/process-info.ts';
import type { ProcessRef } from '../identity/identity.ts';
import { LocalRecords } from '../records/store.ts';
import type { CommandResult } from '../roll/commands.ts';
import { kindOf } from '../servers/kinds/kinds.ts';
import { recognise } from '../servers/recognition/recognise.ts';
import { localFinder } from '../servers/start/programs.ts';
import { ServerRegistry } from './lifecycle/server-registry.ts';
import { startServer } from './lifecycle/starter.ts';
import { programFileOf } from './monitor/outdated.ts';
import { type Fake, installFake } from './testing/fake-opencode.ts';
import { isAlive, livingIn, Started, waitUntil } from './testing/processes.ts';
import { openWorld, type World } from './testing/world.ts';

let folder: string;
let started: Started;
let world: World;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-start-'));
  installFake(folder);
  started = new Started();
});
afterEach(async () => {
  await world.dispose();
  await started.endAll();
  rmSync(folder, { recursive: true, force: true });
});

/** A world in which `opencode` is the fake, told to behave like this. */
async function open(fake: Fake = {}, path = join(folder, 'opencode')): Promise<void> {
  world = await openWorld({
    config: {
      leak: { graceSeconds: 0 },
      look: { intervalSeconds: 0.5 },
      start: { opencode: { path, env: { FAKE: JSON.stringify(fake) } } },
    },
  });
}

function start(change: { port?: number; forPid?: number; keepRunning?: boolean } = {}): Promise<CommandResult> {
  return world.core.run(
    {
      command: 'start',
      kind: 'opencode',
      directory: folder,
      port: change.port ?? null,
      forPid: change.forPid ?? null,
      keepRunning: change.keepRunning ?? false,
    },
    'window',
  );
}

function idAndPid(result: CommandResult): { id: string; pid: number } {
  if (!result.ok || result.server === null) throw new Error(result.ok ? 'no server' : result.failure.message);
  started.note(result.server.pid);
  return result.server;
}

const records = () => readdirSync(world.paths.recordsDir);

async function hostOf(at: World): Promise<{ host: Host; close: () => Promise<void> }> {
  const host = await createLocalHost({ looker: inlineLooker(recognise), stateDir: at.paths.stateDir });
  return { host, close: () => host.close() };
}

async function writerOf(host: Host): Promise<ProcessRef> {
  const info = await host.inspect(process.pid);
  if (info === null) throw new Error('no process of our own');
  return refOf(info);
}

/** What a start of a program says when it is not ready within little more than a second. */
async function failureOfStart(program: string): Promise<unknown> {
  const { host, close } = await hostOf(world);
  try {
    const kind = kindOf('opencode', [], { developmentBin: null, programs: {}, setting: 'start' });
    if (kind === null) throw new Error('no such kind');
    return await startServer(
      {
        kind: { ...kind, locate: async () => ({ found: true, program }) },
        directory: folder,
        port: null,
        owner: null,
        keepRunning: false,
        attempt: 0,
      },
      {
        host,
        store: new LocalRecords(world.paths.recordsDir, world.paths.setAsideDir),
        audit: new AuditFile(world.paths.auditFile),
        lives: new ServerRegistry(
          'local',
          () => ({ when: 'never', attempts: 1 }),
          () => undefined,
        ),
        logsDir: world.paths.logsDir,
        env: process.env,
        finder: localFinder(process.env),
        programFileOf,
        writer: await writerOf(host),
        look: (trees) => host.look({ customKinds: [], include: [], trees, ownPids: [process.pid] }),
        uid: process.getuid?.() ?? null,
        abort: new AbortController().signal,
        by: 'cli',
        progress: () => undefined,
        pending: new Set(),
        deadlineMs: 1200,
        serverAt: () => null,
      },
    ).then(
      () => null,
      (error: unknown) => error,
    );
  } finally {
    await close();
  }
}

async function listen(port = 0): Promise<{ server: NetServer; port: number }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address();
  return { server, port: typeof address === 'object' && address !== null ? address.port : 0 };
}

describe('a start', () => {
  test('is ready, supervised, recorded 0600 and answers; a stop leaves no process, no record and a closed port', async () => {
    await open();
    const result = await start();
    const { id, pid } = idAndPid(result);
    await world.until('it is seen to be healthy', () => world.server(pid)?.health === 'ok');
    const server = world.server(pid);
    expect(server).toMatchObject({ standing: 'supervised', directory: folder });
    expect(server?.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/u);
    expect(records()).toHaveLength(1);
    const stopped = await world.core.run({ command: 'stop', server: id, force: false }, 'window');
    expect(stopped).toMatchObject({ ok: true, results: [{ outcome: 'gone' }] });
    expect(isAlive(pid)).toBe(false);
    expect(records()).toEqual([]);
    expect(world.server(pid)).toBeUndefined();
  });

  test('twice at once settles on one server', async () => {
    await open();
    const [first, second] = await Promise.all([start(), start()]);
    expect(idAndPid(first).pid).toBe(idAndPid(second).pid);
    const third = await start();
    expect(idAndPid(third).pid).toBe(idAndPid(first).pid);
    expect(records()).toHaveLength(1);
  });

  test('A6 on a busy port fails with the holder named, leaves nothing, and is not tried again', async () => {
    const { server, port } = await listen();
    try {
      await open();
      const result = await start({ port });
      expect(result).toMatchObject({ ok: false, failure: { code: 'port-taken' } });
      const { message } = result.ok ? { message: '' } : result.failure;
      for (const named of [String(port), `PID ${process.pid}`, process.execPath]) expect(message).toContain(named);
      expect(records()).toEqual([]);
    } finally {
      server.close();
    }
  });

  test('A14 on the port of another server says whose it is: one of ours, or one that is only listed', async () => {
    await open();
    const { pid } = idAndPid(await start());
    const port = world.server(pid)?.listening[0]?.port ?? 0;
    const elsewhere = join(folder, 'elsewhere');
    mkdirSync(elsewhere);
    const order = {
      command: 'start',
      kind: 'opencode',
      directory: elsewhere,
      forPid: null,
      keepRunning: false,
    } as const;
    const ours = await world.core.run({ ...order, port }, 'cli');
    expect(ours.ok ? '' : ours.failure.message).toBe(
      `Port ${port} is held by a server of Rollcall's, opencode :${port} in ${folder}, PID ${pid}.`,
    );
    const free = await listen();
    free.server.close();
    const foreign = started.spawn(join(folder, 'opencode'), ['serve', '--port', String(free.port)], { cwd: folder });
    await world.until('the other one is listed', () => world.server(foreign.pid)?.listening.length === 1);
    const theirs = await world.core.run({ ...order, port: free.port }, 'cli');
    expect(theirs.ok ? '' : theirs.failure.message).toBe(
      `Port ${free.port} is held by another server that is owned, opencode :${free.port} in ${folder}, PID ${foreign.pid}.`,
    );
    expect(records()).toHaveLength(1);
  });

  test('A24 that stays silent past its deadline fails with what its log says, and leaves nothing', async () => {
    await open({ silent: true });
    const talkative = join(folder, 'talkative');
    writeFileSync(talkative, '#!/bin/sh\necho "cannot reach the moon"\nexec sleep 300\n');
    chmodSync(talkative, 0o755);
    const failure = await failureOfStart(talkative);
    expect(failure).toMatchObject({
      failure: { code: 'not-ready', message: expect.stringContaining('1 s'), detail: 'cannot reach the moon' },
    });
    expect(livingIn(folder)).toEqual([]);
    expect(records()).toEqual([]);
  });

  test('behind a wrapper that starts the server in the moment in which it is ended leaves nothing of either', async () => {
    await open();
    const late = join(folder, 'late');
    const server = `${JSON.stringify(join(folder, 'opencode'))} serve --port 0`;
    writeFileSync(late, `#!/bin/bash\ntrap '${server} & exit 0' TERM\nwhile :; do sleep 0.05; done\n`);
    chmodSync(late, 0o755);
    expect(await failureOfStart(late)).toMatchObject({ failure: { code: 'not-ready' } });
    await waitUntil('nothing is left', () => livingIn(folder).length === 0);
    expect(records()).toEqual([]);
  });

  test('A6 that exits with 0 and no listener is a failure, never "running"', async () => {
    await open({ exit: 0 });
    const result = await start();
    expect(result).toMatchObject({ ok: false, failure: { code: 'exited' } });
    expect(result.ok ? '' : result.failure.message).toContain('code 0');
    // D24: a package runner may end so without having run anything.
    expect(result.ok ? '' : result.failure.detail).toBeNull();
    expect(records()).toEqual([]);
    expect(world.core.roll.servers.filter(({ directory }) => directory === folder)).toEqual([]);
    expect(readAudit(world.paths.auditFile).filter(({ event }) => event === 'planned')).toHaveLength(1);
  });

  test('A1 through a shim that dies on TERM without forwarding: stop ends shim and native, and only then says so', async () => {
    const shim = join(folder, 'bin', 'opencode');
    mkdirSync(join(folder, 'bin'));
    writeFileSync(
      shim,
      `#!${process.execPath}\nrequire('node:child_process').spawn(${JSON.stringify(join(folder, 'opencode'))}, process.argv.slice(2), { stdio: 'inherit' });\nsetInterval(() => {}, 1000);\n`,
    );
    chmodSync(shim, 0o755);
    await open({ swallow: 1 }, shim);
    const { id, pid } = idAndPid(await start());
    const server = world.server(pid);
    expect(server?.processes.map(({ role }) => role)).toEqual(['wrapper', 'server']);
    for (const each of server?.pids ?? []) started.note(each);
    const port = server?.listening[0]?.port ?? 0;
    const stopped = await world.core.run({ command: 'stop', server: id, force: false }, 'tray');
    expect(stopped).toMatchObject({ ok: true, results: [{ outcome: 'gone' }] });
    expect(server?.pids.filter(isAlive)).toEqual([]);
    const again = await listen(port);
    again.server.close();
  });

  test('bound to a process is stopped when that process goes away', async () => {
    await open();
    const owner = started.spawn('sleep', ['300']);
    const { pid } = idAndPid(await start({ forPid: owner.pid }));
    await started.kill(owner.pid);
    await waitUntil('the server has followed its owner', () => !isAlive(pid));
    await waitUntil('its record is gone', () => records().length === 0);
  });

  test('for a process that does not exist is refused before anything is started', async () => {
    await open();
    const gone = started.spawn('true', []);
    await waitUntil('it has exited', () => !isAlive(gone.pid));
    const result = await start({ forPid: gone.pid });
    expect(result).toMatchObject({ ok: false, failure: { code: 'no-owner' } });
    expect(records()).toEqual([]);
  });

  test('in a folder that does not exist says so', async () => {
    await open();
    rmSync(join(folder, 'nothing'), { recursive: true, force: true });
    const result = await world.core.run(
      {
        command: 'start',
        kind: 'opencode',
        directory: join(folder, 'nothing'),
        port: null,
        forPid: null,
        keepRunning: false,
      },
      'cli',
    );
    expect(result).toMatchObject({ ok: false, failure: { code: 'no-folder' } });
  });
});

describe('a restart of the app', () => {
  test('adopts what verifies and starts no second copy', async () => {
    await open();
    const { pid } = idAndPid(await start({ keepRunning: true }));
    world = await world.restart();
    expect(world.server(pid)?.standing).toBe('supervised');
    expect(idAndPid(await start()).pid).toBe(pid);
    expect(readAudit(world.paths.auditFile).filter(({ event }) => event === 'adopted')).toHaveLength(1);
  });

  test('A26 binds a start that was cut off between spawn and record', async () => {
    await open();
    const { pid } = idAndPid(await start());
    const [name] = records();
    const file = join(world.paths.recordsDir, name ?? '');
    const record: Record<string, unknown> = JSON.parse(readFileSync(file, 'utf8'));
    const writer = {
      identity: { ...(record['server'] as { identity: object }).identity, pid: 4_000_000 },
      evidence: { executable: null, argvHash: null },
    };
    writeFileSync(
      file,
      JSON.stringify({ ...record, state: 'planned', spawned: null, server: null, listening: null, writer }),
    );
    world = await world.restart();
    expect(world.server(pid)?.standing).toBe('supervised');
  });

  test('C23 moves a corrupt record aside, shows it, and starts anyway', async () => {
    await open();
    await world.core.close(false, 1000);
    writeFileSync(join(world.paths.recordsDir, 'torn.json'), '{"version":1,"non');
    world = await world.restart();
    expect(world.core.roll.records).toMatchObject([{ verdict: 'corrupt', clearable: false }]);
    expect(records()).toEqual([]);
    expect(readdirSync(world.paths.setAsideDir)).toHaveLength(1);
    idAndPid(await start());
  });
});
