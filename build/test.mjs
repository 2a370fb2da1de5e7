// `npm test`: sets up, checks, tests, and last looks for anything the tests left running. The last line counts
// everything: `N passed, N failed[, N skipped]`.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { COUNTS_FILE, noCounts, readCounts } from './count.mjs';
import { endChild, endInOrder, startDisplay } from './desktop.mjs';
import { LeakWatch, MARKER } from './leaks.mjs';
import { INSIDE, runInside } from './private-pids.mjs';
import { explainFailure, setUp } from './setup.mjs';
import { runQuietly, StepFailed, seconds, step } from './steps.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const tool = (...parts) => path.join(root, 'node_modules', ...parts);

/** Longest that one of the two test runners may take, in milliseconds. */
const RUNNER_MS = 13 * 60 * 1000;

const totals = noCounts();
const ends = [];
let running;
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

/** Runs a test runner with its own progress on the terminal and adds its counts. */
async function runner(name, script, args, env) {
  if (interrupted) return;
  const counts = path.join(env.TMPDIR, 'counts.json');
  rmSync(counts, { force: true });
  const begun = performance.now();
  console.error(`\n${name}`);
  const child = spawn(process.execPath, [script, ...args], {
    cwd: root,
    env: { ...env, [COUNTS_FILE]: counts },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  running = child;
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    void endChild(child);
  }, RUNNER_MS);
  const code = await new Promise((resolve) => child.once('close', (exit, signal) => resolve(signal ?? exit)));
  clearTimeout(timer);
  running = undefined;
  addCounts(name, counts, code);
  if (late) failed(`${name}: took longer than ${seconds(RUNNER_MS)} and was ended`);
  console.error(`${name}: ${seconds(performance.now() - begun)}`);
}

function addCounts(name, file, code) {
  const counts = readCounts(file);
  if (counts === null) {
    failed(`${name}: the test runner ended (${code}) without a result`);
    return;
  }
  rmSync(file);
  totals.passed += counts.passed;
  totals.failed.push(...counts.failed);
  totals.skipped.push(...counts.skipped);
  if (counts.passed + counts.failed.length + counts.skipped.length === 0) failed(`${name}: no test was found`);
  else if (code !== 0 && counts.failed.length === 0) failed(`${name}: the test runner ended with ${code}`);
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

async function endToEnd(env) {
  let runtime;
  const ready = await check('Finding the Electron runtime', async (say) => {
    const { resolveElectron } = await import('./electron-runtime.mjs');
    runtime = await resolveElectron({ say });
  });
  if (!ready) return;
  const display = await startDisplay(env);
  ends.push(display.end);
  await runner(
    'End-to-end tests',
    tool('@playwright', 'test', 'cli.js'),
    ['test', '--config=e2e', `--reporter=list,${path.join(root, 'build', 'count-playwright.mjs')}`],
    { ...env, ...display.env, ELECTRON_OVERRIDE_DIST_PATH: runtime.dist },
  );
}

async function endAll() {
  await endInOrder(ends.splice(0).reverse());
}

/** Runs everything that can leave something behind, then looks for it. */
async function watched() {
  const run = randomUUID();
  // A short name: the path of a Unix socket may have 107 bytes.
  const temporary = mkdtempSync(path.join(os.tmpdir(), 'rct-'));
  // Other users' servers, which some tests start, must be able to pass through to their own folders.
  chmodSync(temporary, 0o711);
  const env = { ...process.env, [MARKER]: run, TMPDIR: temporary };
  const watch = new LeakWatch(run, temporary);
  watch.start();
  try {
    await runner(
      'Unit and integration tests',
      tool('vitest', 'vitest.mjs'),
      ['run', '--reporter=default', `--reporter=${path.join(root, 'build', 'count-vitest.mjs')}`],
      env,
    );
    await endToEnd(env);
  } finally {
    await endAll();
  }
  await check('Looking for processes, mounts and sockets left behind', async (say) => {
    // A process that was just told to end may need a moment to do so.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const left = watch.finish();
    if (left.length > 0) throw new StepFailed('The tests', `left ${left.length} behind`, left.join('\n'));
    const files = readdirSync(temporary);
    if (files.length > 0)
      say(`${files.length} temporary files were left and are removed: ${files.slice(0, 5).join(' ')}`);
  });
  rmSync(temporary, { recursive: true, force: true });
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
      running?.kill(signal);
    });
  }
  const begun = performance.now();
  if (await check('Setting up', setUp)) {
    const { build } = await import('./build.mjs');
    await check('Building', build);
    await staticChecks();
    await watched();
  }
  console.error(`\nAll of it took ${seconds(performance.now() - begun)}.`);
  summary();
  process.exitCode = totals.failed.length > 0 || interrupted ? 1 : 0;
}

// Tests look at every process and reap what is leaked: they get a process table of their own where that is possible.
const code = process.env[INSIDE] === undefined ? await runInside(fileURLToPath(import.meta.url)) : null;
if (code === null) await everything();
else process.exitCode = code;
