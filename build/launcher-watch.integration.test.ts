/** `npm start` under a kill: whatever hits npm, the script learns of it and ends what it started. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { endOrphanAfterTest, isAlive, temporaryFolder, until } from '../app/hosts/local/testing/processes.ts';

const WATCH = fileURLToPath(new URL('./launcher-watch.mjs', import.meta.url));

function npmStart(folder: string): ChildProcess {
  const script = `
    import { writeFileSync } from 'node:fs';
    import { watchLauncher } from ${JSON.stringify(WATCH)};
    process.on('SIGTERM', () => end('signal'));
    const end = (why) => { writeFileSync('why', why); process.exit(0); };
    watchLauncher(() => end('launcher'));
    setInterval(() => {}, 1000);
    writeFileSync('pid', String(process.pid));
  `;
  writeFileSync(join(folder, 'script.mjs'), script);
  writeFileSync(join(folder, 'package.json'), '{"name":"x","version":"1.0.0","scripts":{"start":"node script.mjs"}}');
  const npm = spawn('npm', ['start', '--silent', '--offline'], {
    cwd: folder,
    detached: true,
    stdio: 'ignore',
    // Whatever the settings of whoever runs the tests say of scripts and shells.
    env: { ...process.env, HOME: folder, npm_config_userconfig: '/dev/null', npm_config_update_notifier: 'false' },
  });
  onTestFinished(() => {
    if (npm.exitCode === null && npm.signalCode === null) npm.kill('SIGKILL');
  });
  return npm;
}

test.each(['SIGTERM', 'SIGKILL'] as const)('%s to npm ends the script', async (signal) => {
  const folder = temporaryFolder();
  const npm = npmStart(folder);
  await until('the script runs', () => existsSync(join(folder, 'pid')));
  await until('its number is written', () => readFileSync(join(folder, 'pid'), 'utf8') !== '');
  const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
  endOrphanAfterTest(pid);
  npm.kill(signal);
  await until('the script has ended', () => !isAlive(pid));
  expect(['launcher', 'signal']).toContain(readFileSync(join(folder, 'why'), 'utf8'));
});
