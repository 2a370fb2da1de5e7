// `npm test`: sets up, checks, tests, and last looks for anything the tests left running. The last line counts
// everything: `N passed, N failed[, N skipped]`. `npm test -- FILE...` runs these test files alone, `--long` the long tier
// with `--minutes N` and `--seed S`.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { COUNTS_FILE, noCounts, readCounts } from './count.mjs';
import { INSIDE, privately, runInside } from './private-pids.mjs';
import { explainFailure, setUp } from './setup.mjs';
import { runQuietly, seconds, step } from './steps.mjs';
import { estimate, JobQueue, jobsOf, keepSeconds, kindOf, testFiles } from './test-jobs.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const tool = (...parts) => path.join(root, 'node_modules', ...parts);

/** Lanes beside each other: tests with real processes wait half of their time. */
const LANES = 5;
const POLL_MS = 200;

const words = process.argv.slice(2);
const { values: options, positionals } = parseArgs({
  args: words,
  allowPositionals: true,
  options: { long: { type: 'boolean', default: false }, minutes: { type: 'string' }, seed: { type: 'string' } },
});
const { long } = options;
const named = positionals.map((word) => path.relative(root, path.resolve(word)));
/** For the long tier: how long its runs take, and what chaos begins with. */
const wanted = {
  ...(options.minutes === undefined ? {} : { ROLLCALL_LONG_MINUTES: options.minutes }),
  ...(options.seed === undefined ? {} : { ROLLCALL_LONG_SEED: options.seed }),
};

const totals = noCounts();
/** Output of what failed, by what it was: shown at the end, where it is found. */
const outputs = [];
/** Files that have failed, to run again. */
const again = new Set();
const running = new Set();
let interrupted = false;

/** One check that passes or fails as a whole. Later ones run all the same, so that one run shows every failure. */
async function check(name, work) {
  if (interrupted) return false;
  try {
    await step(name, work);
    totals.passed += 1;
    return true;
  } catch (error) {
    totals.failed.push(name);
    outputs.push({ name, output: explainFailure(error) });
    return false;
  }
}

const nodeScript = (file, ...args) => runQuietly(process.execPath, [file, ...args], { cwd: root });

async function staticChecks() {
  const tsc = tool('typescript', 'bin', 'tsc');
  await check('Checking types', () => nodeScript(tsc, '--noEmit'));
  await check('Checking types of the build scripts', () => nodeScript(tsc, '-p', path.join(root, 'build')));
  const { checkElectronApi } = await import('./electron-api.mjs');
  await check('Checking that both Electron versions have the API in use', () => checkElectronApi());
  await check('Checking format and lint', () => nodeScript(tool('@biomejs', 'biome', 'bin', 'biome'), 'check', '.'));
  await check('Checking import directions', () => nodeScript(path.join(root, 'build', 'check-imports.mjs')));
}

/** All that is to run, longest first. @throws when a named file is no test */
function jobs() {
  const unknown = named.filter((file) => kindOf(file) === null);
  if (unknown.length > 0) throw new Error(`These are no test files: ${unknown.join(', ')}.`);
  const secondsOf = estimate(root);
  const of = (kind) => {
    const files = named.length > 0 ? named.filter((file) => kindOf(file) === kind) : testFiles(root, kind);
    return jobsOf(kind, files, secondsOf);
  };
  if (long && named.length === 0) return of('long');
  const kinds = [...of('integration'), ...of('e2e'), ...(named.length > 0 ? of('long') : [])];
  // Unit tests share one runner, whose start costs more than most of their files.
  const unit = named.length > 0 ? of('unit') : [{ kind: 'unit', files: [], seconds: 40 }];
  return [...unit, ...kinds].sort((a, b) => b.seconds - a.seconds);
}

/** Runs one lane in a process table of its own where that is possible, and adds what it found at its end. */
async function lane(number, folder, env) {
  const counts = path.join(folder, `lane-${number}.json`);
  const script = path.join(root, 'build', 'test-lane.mjs');
  const args = [folder, String(number)];
  const inside = privately(script, args, { network: true }) ?? {
    command: process.execPath,
    args: [script, ...args],
    env: process.env,
  };
  const child = spawn(inside.command, inside.args, {
    cwd: root,
    env: { ...inside.env, ...env, [COUNTS_FILE]: counts },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  running.add(child);
  const code = await new Promise((resolve) => child.once('close', (exit, signal) => resolve(signal ?? exit)));
  running.delete(child);
  const found = readCounts(counts);
  if (found === null) totals.failed.push(`lane ${number}: it ended (${code}) without a result`);
  else add(found);
}

function add(counts) {
  totals.passed += counts.passed;
  totals.failed.push(...counts.failed);
  totals.skipped.push(...counts.skipped);
}

/** Tells of each job as it ends: what it was, how many are done, about how long the rest takes. */
function follow(queue, all, lanes) {
  const open = new Map(all.map((job, index) => [`${String(index).padStart(4, '0')}.json`, job]));
  const whole = all.reduce((sum, job) => sum + job.seconds, 0);
  const begun = performance.now();
  let done = 0;
  const look = () => {
    for (const id of queue.ids('done')) {
      const job = open.get(id);
      const result = job === undefined ? null : queue.result(id);
      if (result === null) continue;
      open.delete(id);
      done += job.seconds;
      add(result);
      const name = job.files.length === 0 ? `${job.kind} tests` : job.files.join(', ');
      if (result.failed.length > 0) {
        outputs.push({ name, output: result.output });
        for (const file of job.files)
          if (result.failed.some((title) => title.includes(path.basename(file)))) again.add(file);
        if (job.files.length === 0) for (const title of result.failed) again.add(title.split(' > ')[0]);
      }
      keepSeconds(root, result.seconds);
      const elapsed = (performance.now() - begun) / 1000;
      // By weight, for the long ones come first; before a tenth is done there is nothing to judge by.
      const left = done < whole / 10 ? '' : `, about ${seconds((1000 * elapsed * (whole - done)) / done)} left`;
      const word = result.failed.length > 0 ? `FAILED (${result.failed.length})` : 'passed';
      console.error(
        `[${all.length - open.size}/${all.length}${left}] ${word}, ${seconds(result.took * 1000)}: ${name}`,
      );
    }
  };
  const timer = setInterval(look, POLL_MS);
  return lanes.finally(() => {
    clearInterval(timer);
    look();
    if (!interrupted)
      for (const job of open.values()) totals.failed.push(`${job.files.join(', ') || job.kind}: it was not run`);
  });
}

async function tests() {
  let all = [];
  if (
    !(await check('Finding the tests', async () => {
      all = jobs();
    }))
  )
    return;
  /** @type {Record<string, string>} */
  let env = { ...wanted };
  if (all.some(({ kind }) => kind === 'e2e')) {
    const ready = await check('Finding the Electron runtime', async (say) => {
      const { resolveElectron } = await import('./electron-runtime.mjs');
      env = { ...env, ELECTRON_OVERRIDE_DIST_PATH: (await resolveElectron({ say })).dist };
    });
    if (!ready) all = all.filter(({ kind }) => kind !== 'e2e');
  }
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rcq-'));
  try {
    const queue = new JobQueue(folder);
    queue.fill(all);
    // Where nothing keeps them apart, they would see each other's processes.
    const apart = process.env[INSIDE] !== undefined;
    const numbers = Array.from({ length: apart ? Math.min(LANES, all.length) : 1 }, (_, index) => index);
    await follow(queue, all, Promise.all(numbers.map((number) => lane(number, folder, env))));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function summary() {
  for (const { title, reason } of totals.skipped) console.log(`skipped: ${title} (${reason})`);
  for (const { name, output } of outputs) console.log(`\n--- ${name}\n${output.trim()}\n`);
  for (const title of totals.failed) console.log(`failed: ${title}`);
  if (again.size > 0) console.log(`To run what failed: npm test -- ${[...again].join(' ')}`);
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
    const since = performance.now();
    await Promise.all([named.length > 0 || long ? null : staticChecks(), tests()]);
    console.error(
      `\nThe tests took ${seconds(performance.now() - since)}, all of it ${seconds(performance.now() - begun)}.`,
    );
  }
  summary();
  process.exitCode = totals.failed.length > 0 || interrupted ? 1 : 0;
}

// Tests look at every process and reap what is leaked: they get a process table of their own where that is possible.
const code = process.env[INSIDE] === undefined ? await runInside(fileURLToPath(import.meta.url), words) : null;
if (code === null) await everything();
else process.exitCode = code;
