/** A start that fails while the machine cannot be looked at leaves a server that could not be ended. It gets an owner. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LookFailed } from '../hosts/host.ts';
import { inlineLooker, type Looker } from '../hosts/local/look/looker.ts';
import { listRecords } from '../records/files.ts';
import { recognise } from '../servers/recognition/recognise.ts';
import { installFake } from './testing/fake-opencode.ts';
import { Started, waitUntil } from './testing/processes.ts';
import { openWorld, type World } from './testing/world.ts';

let folder: string;
let started: Started;
let world: World;
/** Looks fail while it is set, as on a machine that is too busy. */
let blind: boolean;

function looker(): Looker {
  const real = inlineLooker(recognise);
  return {
    ...real,
    look: (request) => (blind ? Promise.reject(new LookFailed('it took longer than 2000 ms')) : real.look(request)),
  };
}

beforeEach(async () => {
  blind = false;
  folder = mkdtempSync(join(tmpdir(), 'rollcall-failed-'));
  const real = installFake(folder);
  const path = join(folder, 'bin-opencode');
  writeFileSync(path, `#!/bin/bash\nsleep 1\n${real} "$@" &\nwait\n`);
  chmodSync(path, 0o755);
  started = new Started();
  world = await openWorld({
    looker: looker(),
    config: { leak: { graceSeconds: 0 }, look: { intervalSeconds: 0.5 }, start: { opencode: { path } } },
  });
});
afterEach(async () => {
  blind = false;
  await world.dispose();
  await started.endAll();
  rmSync(folder, { recursive: true, force: true });
});

test('a server whose start failed without being able to end it is bound to its record, though its wrapper is gone', async () => {
  const records = () => listRecords(world.paths.recordsDir);
  const start = world.core.run(
    { command: 'start', kind: 'opencode', directory: folder, port: null, forPid: null, keepRunning: false },
    'window',
  );
  await waitUntil('it is spawned', () => records()[0]?.record?.state === 'spawned');
  const wrapper = records()[0]?.record?.spawned?.identity.pid ?? 0;
  blind = true;
  started.note(wrapper);
  expect(await start).toMatchObject({ ok: false });
  await started.kill(wrapper);
  blind = false;

  const roll = await world.until('it is supervised', ({ servers }) =>
    servers.some(({ supervised, listening }) => supervised !== null && listening.length > 0),
  );
  const [server] = roll.servers;
  started.note(server?.pid ?? 0);
  expect(server).toMatchObject({ standing: 'supervised', health: 'ok' });
  expect(records()[0]?.record).toMatchObject({ state: 'bound', server: { identity: { pid: server?.pid } } });
  const stopped = await world.core.run({ command: 'stop', server: server?.id ?? '', force: false }, 'window');
  expect(stopped).toMatchObject({ ok: true });
  expect(records()).toEqual([]);
});
