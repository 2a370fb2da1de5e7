// `npm start`: sets up, builds, and runs the app. Without a display it brings its own, with a private session bus, and
// shows the roll in the terminal until Ctrl-C. Whatever it started, it ends.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { endChild, endInOrder, endingWithUs, hasDisplay, startBus, startDisplay } from './desktop.mjs';
import { watchLauncher } from './launcher-watch.mjs';
import { explainFailure, setUp } from './setup.mjs';
import { step, tailOf } from './steps.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

/** How long the app may take to quit in order: its own limit for stopping servers and some air, in milliseconds. */
const QUIT_MS = 15_000;
/** How long to wait for the app before the roll is shown without it, in milliseconds. */
const APP_READY_MS = 10_000;

/** @type {(signal: string) => void} */
let stop = () => {};
const stopped = new Promise((resolve) => {
  stop = resolve;
});
let signals = 0;
let app;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    signals += 1;
    // The second one is from somebody who will not wait.
    if (signals > 1) app?.kill('SIGKILL');
    stop(signal);
  });
}
watchLauncher(() => {
  signals += 1;
  stop('npm has ended');
});
// A terminal that has gone away must not stop us from ending what we started.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

/** Whether the app has opened its control socket since `since` (milliseconds); see app/config/paths.ts. */
function appAnswers(since) {
  const session = process.env.XDG_RUNTIME_DIR;
  const folders = [`/tmp/rollcall-${process.getuid?.() ?? 0}`];
  if (session) folders.push(path.join(session, 'rollcall'));
  for (const folder of folders) {
    try {
      const sockets = readdirSync(folder).filter((name) => /^control-.*\.sock$/.test(name));
      if (sockets.some((name) => statSync(path.join(folder, name)).mtimeMs >= since)) return true;
    } catch {
      // No folder yet, or the socket was replaced while we looked: ask again.
    }
  }
  return false;
}

/** Starts the app in a session of its own, so that Ctrl-C reaches only us and we end things in order. */
function startApp(runtime, env, quiet) {
  const asRoot = process.platform === 'linux' && process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const [program, ...args] = endingWithUs([runtime.executable, ...asRoot, root, ...process.argv.slice(2)]);
  const child = spawn(program, args, {
    cwd: root,
    env,
    detached: quiet,
    stdio: ['ignore', quiet ? 'pipe' : 'inherit', quiet ? 'pipe' : 'inherit'],
  });
  let output = '';
  const keep = (chunk) => {
    output = (output + chunk).slice(-20_000);
  };
  child.stdout?.setEncoding('utf8').on('data', keep);
  child.stderr?.setEncoding('utf8').on('data', keep);
  return { child, tail: () => tailOf(output, 30) };
}

/** Shows the roll in this terminal until it is ended. */
async function showRoll(env, since) {
  const deadline = Date.now() + APP_READY_MS;
  while (!appAnswers(since) && Date.now() < deadline && signals === 0) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  if (signals > 0) return null;
  return spawn(process.execPath, [path.join(root, 'out', 'cli.js'), 'list', '--watch'], {
    cwd: root,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

/** Runs the app until it or the person ends it. Returns the exit code. */
async function runApp(runtime, ends) {
  let env = { ...process.env };
  const quiet = process.platform === 'linux' && !hasDisplay(env);
  if (quiet) {
    const display = await startDisplay(env);
    ends.push(display.end);
    env = { ...env, ...display.env };
    const bus = await startBus(env);
    ends.push(bus.end);
    env = { ...env, ...bus.env };
    console.error(`No display here: Rollcall runs on its own, ${env.DISPLAY}. The roll follows; Ctrl-C ends it.`);
  }
  const since = Date.now();
  const started = startApp(runtime, env, quiet);
  app = started.child;
  const exited = once(app, 'exit').then(([code, signal]) => ({ code, signal }));
  ends.push(() => endChild(app, QUIT_MS));
  if (quiet) {
    const roll = await showRoll(env, since);
    if (roll) ends.push(() => endChild(roll));
  }
  const end = await Promise.race([exited, stopped]);
  if (typeof end === 'string') return 0;
  if (end.code === 0) return 0;
  console.error(`\nRollcall ended unexpectedly (${end.signal ?? `exit code ${end.code}`}).\n${started.tail()}`);
  return end.code ?? 1;
}

async function main() {
  const ends = [];
  try {
    await setUp();
    const { build } = await import('./build.mjs');
    await step('Building', build);
    const { resolveElectron } = await import('./electron-runtime.mjs');
    const runtime = await step('Finding the Electron runtime', (say) => resolveElectron({ say }));
    if (signals > 0) return 0;
    return await runApp(runtime, ends);
  } catch (error) {
    console.error(explainFailure(error));
    return 1;
  } finally {
    await endInOrder(ends.reverse());
  }
}

process.exitCode = await main();
