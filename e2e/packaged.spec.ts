/** The packaged folder: what `npm run dist` makes starts, shows its roll, and brings its command line along. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { _electron } from '@playwright/test';
import { electronRuntime, launchSpec } from './support/app.ts';
import { eventually, marked } from './support/processes.ts';
import { expect, test, windowOf } from './support/test.ts';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '..');

test.setTimeout(240_000);

test('the packaged app starts, shows the roll, and its command line works without Electron', async ({
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
  const { env, args } = await launchSpec({ folders, mark, bus });
  const app = await _electron.launch({
    executablePath: join(folder, 'rollcall'),
    args: args.slice(1),
    env,
    colorScheme: null,
  });
  const page = await windowOf(app);
  await expect(page.getByText(/looked at \d+ processes on local/u)).toBeVisible({ timeout: 30_000 });
  expect(await app.evaluate(({ app: electron }) => electron.isPackaged)).toBe(true);

  const cli = join(folder, 'resources/app.asar.unpacked/out/cli.js');
  const { stdout } = await run(process.execPath, [cli, 'list', '--json'], { env });
  expect(JSON.parse(stdout)).toMatchObject({ version: 1, hosts: [{ name: 'local', state: 'connected' }] });
  await app.close();
  const alone = await run(process.execPath, [cli, 'list', '--json'], { env });
  expect(JSON.parse(alone.stdout)).toMatchObject({ version: 1, hosts: [{ state: 'connected' }] });
  await eventually(() => expect(marked(mark)).toEqual([]), 20_000);
});
