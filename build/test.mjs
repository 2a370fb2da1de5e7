// `npm test`: sets up, checks, tests, and last looks for anything the tests left running. The last line counts
// everything: `N passed, N failed[, N skipped]`.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { COUNTS_FILE, noCounts, readCounts } from './count.mjs';
import { INSIDE, privately, runInside } from './private-pids.mjs';
import { explainFailure, setUp } from './setup.mjs';
import { runQuietly, seconds, step } from './steps.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const tool = (...parts) => path.join(root, 'node_modules', ...parts);

const totals = noCounts();
const running = new Set();
let interrupted = false;

const failed = (title, detail) => {
  totals.failed.push(title);
  if (detail) console.error(`\n${title}\n${detail}\n`);
};

/** One check that passes or fails as a whole. Later ones run all the same, so that one run shows every failure. */
async function check(name, work) {
  if (interrupted) return false;
  try {
    await step(name, work);
    totals.passed += 1;
    return true;
  } catch (error) {
    failed(name, explainFailure(error));
    return false;
  }
}

const nodeScript = (file, ...args) => runQuietly(process.execPath, [file, ...args], { cwd: root });

/** Runs one part of the tests, in a process table of its own where that is possible, and adds its counts. */
async function part(name, env = {}) {
  if (interrupted) return;
  const begun = performance.now();
  const counts = path.join(mkdtempSync(path.join(os.tmpdir(), 'rcc-')), 'counts.json');
  const script = path.join(root, 'build', 'test-part.mjs');
  const inside = privately(script, [name]) ?? { command: process.execPath, args: [script, name], env: process.env };
  const child = spawn(inside.command, inside.args, {
    cwd: root,
    env: { ...inside.env, ...env, [COUNTS_FILE]: counts },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  running.add(child);
  const code = await new Promise((resolve) => child.once('close', (exit, signal) => resolve(signal ?? exit)));
  running.delete(child);
  const found = readCounts(counts);
  rmSync(path.dirname(counts), { recursive: true, force: true });
  if (found === null) failed(`${name}: it ended (${code}) without a result`);
  else {
    totals.passed += found.passed;
    totals.failed.push(...found.failed);
    totals.skipped.push(...found.skipped);
  }
  console.error(`\n${name}: ${seconds(performance.now() - begun)}\n`);
}

async function staticChecks() {
  const tsc = tool('typescript', 'bin', 'tsc');
  await check('Checking types', () => nodeScript(tsc, '--noEmit'));
  await check('Checking types of the build scripts', () => nodeScript(tsc, '-p', path.join(root, 'build')));
  const { checkElectronApi } = await import('./electron-api.mjs');
  await check('Checking that both Electron versions have the API in use', () => checkElectronApi());
  await check('Checking format and lint', () => nodeScript(tool('@biomejs', 'biome', 'bin', 'biome'), 'check', '.'));
  await check('Checking import directions', () => nodeScript(path.join(root, 'build', 'check-imports.mjs')));
}

async function endToEnd() {
  let runtime;
  const ready = await check('Finding the Electron runtime', async (say) => {
    const { resolveElectron } = await import('./electron-runtime.mjs');
    runtime = await resolveElectron({ say });
  });
  if (ready) await beside(['e2e-1', 'e2e-2'], { ELECTRON_OVERRIDE_DIST_PATH: runtime.dist });
}

/** Parts beside each other; where nothing keeps them apart, they would see each other's processes. */
async function beside(parts, env = {}) {
  if (process.env[INSIDE] !== undefined) await Promise.all(parts.map((each) => part(each, env)));
  else for (const each of parts) await part(each, env);
}

function summary() {
  for (const { title, reason } of totals.skipped) console.log(`skipped: ${title} (${reason})`);
  for (const title of totals.failed) console.log(`failed: ${title}`);
  if (interrupted) console.log('interrupted before the end');
  const skipped = totals.skipped.length > 0 ? `, ${totals.skipped.length} skipped` : '';
  console.log(`${totals.passed} passed, ${totals.failed.length} failed${skipped}`);
}

async function everything() {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      interrupted = true;
      // What runs in a namespace of its own ends with it; unshare itself ignores these signals.
      for (const child of running) child.kill(process.env[INSIDE] === undefined ? signal : 'SIGKILL');
    });
  }
  const begun = performance.now();
  if (await check('Setting up', setUp)) {
    const { build } = await import('./build.mjs');
    await check('Building', build);
    // The checks keep one core busy, the unit tests the other.
    await Promise.all([staticChecks(), part('unit')]);
    await beside(['integration-1', 'integration-2', 'integration-3', 'integration-4']);
    // On their own: windows on a software display need the machine.
    await endToEnd();
  }
  console.error(`\nAll of it took ${seconds(performance.now() - begun)}.`);
  summary();
  process.exitCode = totals.failed.length > 0 || interrupted ? 1 : 0;
}

// Tests look at every process and reap what is leaked: they get a process table of their own where that is possible.
const code = process.env[INSIDE] === undefined ? await runInside(fileURLToPath(import.meta.url)) : null;
if (code === null) await everything();
else process.exitCode = code;
