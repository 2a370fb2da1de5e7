// One part of `npm test`: a test runner, and a look for what it left behind. Started by test.mjs in a process table of its
// own, with the name of the part; writes its counts into the file that the environment names.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { COUNTS_FILE, noCounts, readCounts, writeCounts } from './count.mjs';
import { endChild, endInOrder, startDisplay } from './desktop.mjs';
import { LeakWatch, MARKER } from './leaks.mjs';
import { spread } from './spread.mjs';
import { seconds } from './steps.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const tool = (...parts) => path.join(root, 'node_modules', ...parts);

/** Longest that a test runner may take, in milliseconds. */
const RUNNER_MS = 14 * 60 * 1000;
/** What was just told to end may need this long to do so on a busy machine, in milliseconds. */
const LEAVE_MS = 10_000;
const LEAVE_EVERY_MS = 250;

const vitest = (...words) => ({
  script: tool('vitest', 'vitest.mjs'),
  args: ['run', ...words, '--reporter=default', `--reporter=${path.join(root, 'build', 'count-vitest.mjs')}`],
});

const countPlaywright = path.join(root, 'build', 'count-playwright.mjs');

/** Seconds that the end-to-end tests of a file took, measured; parts that run beside each other should end together. */
const SECONDS = {
  'reap.spec.ts': 90,
  'lifecycle.spec.ts': 85,
  'hosts.spec.ts': 66,
  'supervise.spec.ts': 50,
  'tray.spec.ts': 44,
  'teardown.spec.ts': 42,
  'guard.spec.ts': 40,
};
const OTHERS_SECONDS = 29;

const specs = readdirSync(path.join(root, 'e2e')).filter((name) => name.endsWith('.spec.ts'));
const [firstSpecs = [], secondSpecs = []] = spread(
  specs,
  2,
  (name) => name,
  (name) => SECONDS[name] ?? OTHERS_SECONDS,
);

/** @param display a number of its own: in another process table, one's lock file names nobody and looks left behind */
const playwright = (name, files, display) => ({
  script: tool('@playwright', 'test', 'cli.js'),
  args: [
    'test',
    '--config=e2e',
    `--output=${path.join(root, 'test-results', name)}`,
    `--reporter=list,${countPlaywright}`,
    // Patterns: with its folder, the name of one is not found within another's.
    ...files.map((file) => `e2e/${file}`),
  ],
  display,
  env: { ROLLCALL_E2E_OUT: name },
});

/** Tests with real processes wait most of the time, so parts of them run beside each other, each with its own processes. */
const PARTS = {
  unit: vitest('--project=unit'),
  'integration-1': vitest('--project=integration', '--shard=1/4'),
  'integration-2': vitest('--project=integration', '--shard=2/4'),
  'integration-3': vitest('--project=integration', '--shard=3/4'),
  'integration-4': vitest('--project=integration', '--shard=4/4'),
  'e2e-1': playwright('e2e-1', firstSpecs, 71),
  'e2e-2': playwright('e2e-2', secondSpecs, 72),
};

const totals = noCounts();
const ends = [];
let running;
let interrupted = false;

/** Runs the test runner with its own progress on the terminal. @returns its exit code or the signal that ended it */
async function runTests(name, { script, args }, env) {
  const child = spawn(process.execPath, [script, ...args], { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] });
  running = child;
  const timer = setTimeout(() => {
    totals.failed.push(`${name}: took longer than ${seconds(RUNNER_MS)} and was ended`);
    void endChild(child);
  }, RUNNER_MS);
  const code = await new Promise((resolve) => child.once('close', (exit, signal) => resolve(signal ?? exit)));
  clearTimeout(timer);
  running = undefined;
  return code;
}

function addCounts(name, counts, code) {
  if (counts === null) {
    totals.failed.push(`${name}: the test runner ended (${code}) without a result`);
    return;
  }
  totals.passed += counts.passed;
  totals.failed.push(...counts.failed);
  totals.skipped.push(...counts.skipped);
  if (counts.passed + counts.failed.length + counts.skipped.length === 0) {
    totals.failed.push(`${name}: no test was found`);
  } else if (code !== 0 && counts.failed.length === 0) {
    totals.failed.push(`${name}: the test runner ended with ${code}`);
  }
}

async function lookForLeaks(name, watch, temporary) {
  const until = performance.now() + LEAVE_MS;
  let left = watch.finish();
  while (left.length > 0 && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, LEAVE_EVERY_MS));
    left = watch.finish();
  }
  if (left.length === 0) totals.passed += 1;
  else {
    totals.failed.push(`${name}: ${left.length} left behind`);
    console.error(`\n${name} left behind:\n${left.join('\n')}\n`);
  }
  const files = readdirSync(temporary).filter((file) => file !== 'home');
  if (files.length > 0) {
    const some = files.slice(0, 5).join(' ');
    console.error(`${name}: ${files.length} temporary files were left and are removed: ${some}`);
  }
}

async function runPart(name, part) {
  const run = randomUUID();
  // A short name: the path of a Unix socket may have 107 bytes.
  const temporary = mkdtempSync(path.join(os.tmpdir(), 'rct-'));
  // Other users' servers, which some tests start, must be able to pass through to their own folders.
  chmodSync(temporary, 0o711);
  const counts = path.join(temporary, 'counts.json');
  // Nobody's profile is run, and nobody's settings and sessions are read.
  const home = path.join(temporary, 'home');
  mkdirSync(home);
  const own = { HOME: home, SHELL: '/bin/sh', TMPDIR: temporary, [MARKER]: run, [COUNTS_FILE]: counts };
  let env = { ...process.env, ...part.env, ...own };
  const watch = new LeakWatch(run, temporary);
  watch.start();
  try {
    if (part.display !== undefined) {
      const display = await startDisplay(env, part.display);
      ends.push(display.end);
      env = { ...env, ...display.env };
    }
    const code = await runTests(name, part, env);
    addCounts(name, readCounts(counts), code);
    rmSync(counts, { force: true });
  } finally {
    await endInOrder(ends.splice(0).reverse());
  }
  await lookForLeaks(name, watch, temporary);
  rmSync(temporary, { recursive: true, force: true });
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    interrupted = true;
    running?.kill(signal);
  });
}
const [name = ''] = process.argv.slice(2);
const part = PARTS[name];
if (part === undefined) throw new Error(`there is no part ${name} of the tests`);
await runPart(name, part);
writeCounts(totals);
process.exitCode = totals.failed.length > 0 || interrupted ? 1 : 0;
