/** The packaged folder: what `npm run dist` makes starts, shows its roll, and brings its command line along. */
import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { _electron } from '@playwright/test';
import { GRACE_VARIABLE } from '../app/guard/grace.ts';
import { installFake } from '../app/supervisor/testing/fake-opencode.ts';
import { electronRuntime, launchSpec } from './support/app.ts';
import { eventually, lives, marked, seen } from './support/processes.ts';
import { expect, test, windowOf } from './support/test.ts';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '..');

test.setTimeout(600_000);

test('the packaged app starts, shows the roll, is guarded, and its command line works without Electron', async ({
  folders,
  mark,
  bus,
}) => {
  const output = join(folders.root, 'release');
  const runtime = await electronRuntime();
  await run(
    process.execPath,
    [
      join(ROOT, 'node_modules/electron-builder/cli.js'),
      '--dir',
      '--publish=never',
      `-c.electronDist=${runtime.dist}`,
      `-c.electronVersion=${runtime.version}`,
      `-c.directories.output=${output}`,
    ],
    { cwd: ROOT, env: { ...process.env, ROLLCALL_ALLOW_DEV_RUNTIME: '1' } },
  );
  const folder = join(output, 'linux-unpacked');
  expect(existsSync(join(folder, 'resources/default_app.asar'))).toBe(false);
  const { env, args } = await launchSpec({ folders, mark, bus, env: { [GRACE_VARIABLE]: '500' } });
  const app = await _electron.launch({
    executablePath: join(folder, 'rollcall'),
    args: args.slice(1),
    env,
    colorScheme: null,
  });
  const page = await windowOf(app);
  await expect(page.getByText(/looked at \d+ processes on local/u)).toBeVisible();
  expect(await app.evaluate(({ app: electron }) => electron.isPackaged)).toBe(true);

  const cli = join(folder, 'resources/app.asar.unpacked/out/cli.js');
  const { stdout } = await run(process.execPath, [cli, 'list', '--json'], { env });
  expect(JSON.parse(stdout)).toMatchObject({ version: 1, hosts: [{ name: 'local', state: 'connected' }] });
  // The guard is the package's own executable run as Node; it ends what a killed app leaves behind.
  const project = join(folders.root, 'project');
  const fake = installFake(project);
  writeFileSync(join(folders.config, 'config.json'), JSON.stringify({ start: { opencode: { path: fake } } }), {
    mode: 0o600,
  });
  const started = await run(process.execPath, [cli, 'start', 'opencode', '--dir', project, '--json'], { env });
  const server = seen((JSON.parse(started.stdout) as { pid: number }).pid);
  const guard = marked(mark).find(({ argv }) => argv.some((word) => word.endsWith('/guard.js')));
  expect(guard?.argv[0]).toBe(join(folder, 'rollcall'));
  expect(guard?.argv.at(-1)).toBe(join(folder, 'resources/app.asar.unpacked/out/guard.js'));
  app.process().kill('SIGKILL');
  await eventually(() => expect(server === null || lives(server)).toBe(false));
  const alone = await run(process.execPath, [cli, 'list', '--json'], { env });
  expect(JSON.parse(alone.stdout)).toMatchObject({ version: 1, hosts: [{ state: 'connected' }] });
  await eventually(() => expect(marked(mark)).toEqual([]));
});
