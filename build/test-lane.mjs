// One lane of `npm test`: takes jobs from the queue and runs each with its test runner, until none is left, and looks after
// each for what its tests left behind. Started by test.mjs in a process table of its own, with the folder of the queue and the
// number of the lane.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { COUNTS_FILE, noCounts, readCounts, writeCounts } from './count.mjs';
import { endChild, startDisplay } from './desktop.mjs';
import { LeakWatch, MARKER } from './leaks.mjs';
import { INSIDE } from './private-pids.mjs';
import { seconds } from './steps.mjs';
import { JobQueue } from './test-jobs.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const tool = (...parts) => path.join(root, 'node_modules', ...parts);

/** Longest that one job may take, in milliseconds: only one that hangs meets it. */
const JOB_MS = 15 * 60 * 1000;
const LONG_JOB_MS = 60 * 60 * 1000;
/** What was just told to end may need this long to do so on a busy machine, in milliseconds. */
const LEAVE_MS = 20_000;
const LEAVE_EVERY_MS = 250;
/** Lines of a job that failed are kept up to this many characters. */
const OUTPUT_LIMIT = 400_000;
/** In another process table the lock file of a display names nobody, so each lane has numbers of its own. */
const FIRST_DISPLAY = 71;

/** Of the environment of whoever runs the tests they see these, and nothing else. */
const PASSED_ON = [
  'CI',
  INSIDE,
  'ELECTRON_OVERRIDE_DIST_PATH',
  'NODE_OPTIONS',
  'ROLLCALL_LONG_MINUTES',
  'ROLLCALL_LONG_SEED',
];

function commandOf(job, temporary) {
  if (job.kind === 'e2e') {
    const args = ['test', '--config=e2e', `--output=${path.join(temporary, 'e2e')}`];
    const reporters = `--reporter=list,${path.join(root, 'build', 'count-playwright.mjs')}`;
    return [tool('@playwright', 'test', 'cli.js'), ...args, reporters, ...job.files];
  }
  const reporters = ['--reporter=default', `--reporter=${path.join(root, 'build', 'count-vitest.mjs')}`];
  return [tool('vitest', 'vitest.mjs'), 'run', `--project=${job.kind}`, ...reporters, ...job.files];
}

/** Programs by name: those of the system, and this node with its npm, wherever it is installed. */
function pathFor(temporary) {
  const bin = path.join(temporary, 'bin');
  mkdirSync(bin);
  for (const name of ['node', 'npm', 'npx'])
    symlinkSync(path.join(path.dirname(process.execPath), name), path.join(bin, name));
  return [bin, '/usr/bin', '/bin', '/usr/sbin', '/sbin'].join(path.delimiter);
}

/** Runs one job. @returns {Promise<{code: number | string | null, output: string}>} */
function runJob(job, temporary, env) {
  const [script, ...args] = commandOf(job, temporary);
  const child = spawn(process.execPath, [script, ...args], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  running = child;
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk) => {
      output = (output + chunk).slice(-OUTPUT_LIMIT);
    });
  }
  const limit = job.kind === 'long' ? LONG_JOB_MS : JOB_MS;
  const timer = setTimeout(() => {
    output += `\nIt took longer than ${seconds(limit)} and was ended.\n`;
    void endChild(child);
  }, limit);
  return new Promise((resolve) =>
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      running = undefined;
      resolve({ code: signal ?? code, output });
    }),
  );
}

/** What a runner said of its tests, as a result that counts: one without any is a failure, too. */
function judged(counts, { code }, files) {
  if (counts === null) return { ...noCounts(), failed: [`${files}: the test runner ended (${code}) without a result`] };
  const failed = [...counts.failed];
  if (counts.passed + failed.length + counts.skipped.length === 0) failed.push(`${files}: no test was found`);
  else if (code !== 0 && failed.length === 0) failed.push(`${files}: the test runner ended with ${code}`);
  return { ...counts, failed };
}

/** Waits for what is about to go. @returns {Promise<string[]>} a sentence for each thing that stays */
async function leftBehind(watch) {
  const until = performance.now() + LEAVE_MS;
  let left = watch.finish();
  while (left.length > 0 && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, LEAVE_EVERY_MS));
    left = watch.finish();
  }
  return left;
}

/** What a job leaves would be seen by the tests of the next one, and fail them. */
function clear(watch) {
  for (const pid of watch.pids()) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      // It may have gone since.
      if (error.code !== 'ESRCH') throw error;
    }
  }
}

let running;
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    interrupted = true;
    running?.kill(signal);
  });
}

const [folder = '', lane = '0'] = process.argv.slice(2);
const queue = new JobQueue(folder);
process.umask(0o022);
const run = randomUUID();
// A short name: the path of a Unix socket may have 107 bytes.
const temporary = mkdtempSync(path.join(os.tmpdir(), 'rct-'));
// Other users' servers, which some tests start, must be able to pass through to their own folders.
chmodSync(temporary, 0o711);
const home = path.join(temporary, 'home');
mkdirSync(home);
const counts = path.join(temporary, 'counts.json');
let env = {
  ...Object.fromEntries(
    PASSED_ON.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  ),
  PATH: pathFor(temporary),
  // Nobody's profile is run, and nobody's settings and sessions are read.
  HOME: home,
  SHELL: '/bin/sh',
  USER: os.userInfo().username,
  LOGNAME: os.userInfo().username,
  LANG: 'C.UTF-8',
  TZ: 'UTC',
  TMPDIR: temporary,
  [MARKER]: run,
  [COUNTS_FILE]: counts,
};
const whole = new LeakWatch(run, temporary);
/** @type {Awaited<ReturnType<typeof startDisplay>> | null} */
let display = null;
try {
  for (let next = queue.take(); next !== null && !interrupted; next = queue.take()) {
    const { id, job } = next;
    if (job.kind === 'e2e' && display === null) {
      display = await startDisplay(env, FIRST_DISPLAY + Number(lane));
      env = { ...env, ...display.env };
    }
    const begun = performance.now();
    const watch = new LeakWatch(run, temporary);
    watch.start();
    const ended = await runJob(job, temporary, { ...env, ROLLCALL_E2E_OUT: `lane-${lane}` });
    const took = (performance.now() - begun) / 1000;
    const name = job.files.join(', ') || `${job.kind} tests`;
    const result = judged(readCounts(counts), ended, name);
    rmSync(counts, { force: true });
    const left = await leftBehind(watch);
    if (left.length > 0) result.failed.push(`${name}: ${left.length} left behind: ${left.join('; ')}`);
    clear(watch);
    queue.finish(id, { ...result, took, output: result.failed.length > 0 ? ended.output : '' });
  }
} finally {
  await display?.end();
}
const left = await leftBehind(whole);
rmSync(temporary, { recursive: true, force: true });
writeCounts({
  ...noCounts(),
  passed: left.length === 0 ? 1 : 0,
  failed: left.length === 0 ? [] : [`lane ${lane}: ${left.length} left behind: ${left.join('; ')}`],
});
