// `npm run chaos`: bundles the run and starts it in namespaces of its own, where nothing outside can be hit.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.join(here, '..');

/** Processes, mounts, IPC and network of its own. `--kill-child` ends all of it when the outer end goes away. */
const APART = ['--pid', '--fork', '--mount-proc', '--kill-child', '--mount', '--ipc', '--net'];
/** bash, since the first process of a namespace inherits its orphans and must collect them. */
const FIRST_PROCESS = ['bash', '-c', '"$@"; exit $?', 'first-process'];
/** Said with this exit code when nothing was run. */
const CANNOT = 3;

/** Why it cannot run here; null when it can. */
function trouble() {
  if (process.platform !== 'linux') return 'it needs the namespaces of Linux';
  if (process.getuid?.() !== 0) return 'it needs root, for mounts, other users and chosen PIDs inside its namespaces';
  const apart = spawnSync('unshare', [...APART, 'true'], { encoding: 'utf8' });
  if (apart.status !== 0) return `namespaces cannot be made here: ${apart.stderr?.trim() || apart.error?.message}`;
  for (const program of ['strace', 'ip', '/usr/bin/python3']) {
    const found = spawnSync('sh', ['-c', 'command -v "$1"', 'sh', program]);
    if (found.status !== 0) return `${program} is not installed`;
  }
  return null;
}

const why = trouble();
if (why !== null) {
  process.stderr.write(`chaos: not run: ${why}\n`);
  process.exit(CANNOT);
}

// Below node_modules, so that what is not bundled is found as from the sources.
const folder = mkdtempSync(path.join(root, 'node_modules', '.rollcall-chaos-'));
const driver = path.join(folder, 'driver.mjs');
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
await build({
  entryPoints: [path.join(here, 'driver.ts')],
  outfile: driver,
  bundle: true,
  loader: { '.sh': 'text', '.py': 'text' },
  platform: 'node',
  format: 'esm',
  target: 'node20',
  packages: 'external',
  logLevel: 'error',
});
const inside = [...FIRST_PROCESS, process.execPath, driver, here, folder, ...process.argv.slice(2)];
const child = spawn('unshare', [...APART, ...inside], { stdio: 'inherit' });
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
process.on('SIGINT', () => undefined);
child.once('close', (code) => {
  process.exitCode = code ?? 1;
});
