import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { until } from '../hosts/local/testing/processes.ts';
import { acquireWriter, type Holder, type WriterLock } from '../writer/writer-lock.ts';
import { type Claim, type ClaimRequest, claimWriter } from './claim-writer.ts';
import { connectControl } from './client.ts';
import { FakeCore } from './fake-core.testing.ts';
import { type ControlServer, serveControl } from './server.ts';

let root: string;
let request: ClaimRequest;
let server: ControlServer | null;
let locks: WriterLock[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rollcall-claim-'));
  mkdirSync(join(root, 'run'), { mode: 0o700 });
  request = {
    writerLock: join(root, 'writer.lock'),
    controlSocket: join(root, 'run', 'control.sock'),
    runtimeDir: join(root, 'run'),
    version: '0.1.0',
    patienceMs: 300,
    commandPatienceMs: 60_000,
  };
  server = null;
  locks = [];
});
afterEach(async () => {
  await server?.close();
  for (const lock of locks) await lock.release();
  rmSync(root, { recursive: true, force: true });
});

async function held(holder: Holder): Promise<WriterLock> {
  const lock = await acquireWriter(request.writerLock, {
    holder,
    version: '0.1.0',
    socketPath: request.controlSocket,
  });
  locks.push(lock);
  return lock;
}

/** What a guard serves: it lets go when it is asked to, after its work. */
async function guard(lock: WriterLock, work: () => Promise<void> | void): Promise<void> {
  server = await serveControl({
    core: new FakeCore(),
    socketPath: request.controlSocket,
    version: '0.1.0',
    onShow: () => {
      throw new Error('The Rollcall app does not run; its guard looks after its servers. Start the app.');
    },
    onYield: async () => {
      await work();
      server?.stopListening();
      await lock.release();
    },
  });
}

function taken(claim: Claim): void {
  if (!claim.first) throw new Error(claim.message);
  locks.push(claim.lock);
  expect(claim.lock.holder).toBe('app');
}

describe('an app that starts', () => {
  test('asks a guard to let go and takes the lock as soon as it has', async () => {
    let finish: () => void = () => undefined;
    let asked = false;
    await guard(await held('guard'), () => {
      asked = true;
      return new Promise((done) => {
        finish = done;
      });
    });
    // It waits for the work, although its patience with one that is not heard is over at once.
    const claim = claimWriter({ ...request, patienceMs: 0 });
    await until('the guard is asked', () => asked, 60_000);
    finish();
    taken(await claim);
  });

  test('of two that ask one guard, one takes the lock, and neither is left without an answer', async () => {
    let asked = 0;
    await guard(await held('guard'), () => {
      asked += 1;
      return until('both have asked', () => asked === 2, 60_000);
    });
    const claims = await Promise.all([claimWriter(request), claimWriter(request)]);
    expect(claims.filter(({ first }) => first)).toHaveLength(1);
    for (const claim of claims) if (claim.first) locks.push(claim.lock);
  });

  test('says who holds the lock when a guard does not let go', async () => {
    await held('guard');
    const claim = await claimWriter(request);
    expect(claim).toMatchObject({ first: false, exitCode: 1 });
    expect(claim.first ? '' : claim.message).toContain("Rollcall's guard");
  });

  test('waits longer for a command, which may be starting a server', async () => {
    const lock = await held('cli');
    const said = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    onTestFinished(() => said.mockRestore());
    const claim = claimWriter({ ...request, patienceMs: 0 });
    await until('it says that it waits', () => said.mock.calls.length > 0, 60_000);
    await lock.release();
    taken(await claim);
  });

  test('is not starved by a row of commands', async () => {
    let over = false;
    const row = (async () => {
      while (!over) {
        // The pauses are those of the command itself, which tries again every 200 ms while somebody else holds it.
        const lock = await held('cli').catch(() => null);
        await new Promise((done) => setTimeout(done, lock === null ? 200 : 100));
        await lock?.release();
        if (lock !== null) await new Promise((done) => setTimeout(done, 200));
      }
    })();
    taken(await claimWriter(request));
    over = true;
    await row;
  });
});

test('a guard has no window to show, and says so; an app yields to nobody', async () => {
  await guard(await held('guard'), () => undefined);
  const client = await connectControl(request.controlSocket, 60_000, { version: '0.1.0' });
  await expect(client.show(null)).rejects.toThrow('its guard looks after its servers');
  client.close();
  await server?.close();
  server = await serveControl({
    core: new FakeCore(),
    socketPath: request.controlSocket,
    version: '0.1.0',
    onShow: () => undefined,
  });
  const app = await connectControl(request.controlSocket, 60_000, { version: '0.1.0' });
  await expect(app.yield()).rejects.toThrow('yields to nobody');
  app.close();
});

test('a second launch with another runtime folder shows the window of the first', async () => {
  await held('app');
  let shown = 0;
  server = await serveControl({
    core: new FakeCore(),
    socketPath: request.controlSocket,
    version: '0.1.0',
    onShow: () => {
      shown += 1;
    },
  });
  const elsewhere = { ...request, controlSocket: join(root, 'other', 'control.sock'), runtimeDir: join(root, 'other') };
  expect(await claimWriter(elsewhere)).toMatchObject({ first: false, exitCode: 0 });
  expect(shown).toBe(1);
});

test('a runtime folder that was deleted is made again, and connections that were there go on', async () => {
  await held('app');
  server = await serveControl({
    core: new FakeCore(),
    socketPath: request.controlSocket,
    version: '0.1.0',
    onShow: () => undefined,
    everyMs: 20,
  });
  const before = await connectControl(request.controlSocket, 60_000, { version: '0.1.0' });
  for (let round = 0; round < 2; round += 1) {
    rmSync(join(root, 'run'), { recursive: true });
    await until('the socket is back', () => existsSync(request.controlSocket));
    const client = await connectControl(request.controlSocket, 60_000, { version: '0.1.0' });
    expect(statSync(request.controlSocket).mode & 0o777).toBe(0o600);
    expect(statSync(join(root, 'run')).mode & 0o777).toBe(0o700);
    client.close();
  }
  await before.show(null);
  before.close();
});

test('a runtime folder that cannot be made again is said once, with its reason', async () => {
  const lost: string[] = [];
  server = await serveControl({
    core: new FakeCore(),
    socketPath: request.controlSocket,
    version: '0.1.0',
    onShow: () => undefined,
    onLost: (why) => lost.push(why),
    everyMs: 20,
  });
  rmSync(join(root, 'run'), { recursive: true });
  writeFileSync(join(root, 'run'), 'a file in its place');
  await until('it was said', () => lost.length > 0);
  expect(lost).toEqual([expect.stringContaining(join(root, 'run'))]);
});
