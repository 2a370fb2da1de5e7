/**
 * Entry of the guard. While the app lives it only keeps what it is told; the core is loaded when the app is gone. It
 * has a session of its own, so a terminal that closes or a Ctrl-C there does not reach it.
 */

import { Socket } from 'node:net';
import { messageOf } from '../util/errors.ts';
import { say } from './log.ts';
import { line } from './protocol.ts';
import { latestRun } from './run-file.ts';
import { type Kept, Watcher } from './watcher.ts';

/** The end of the pipe that is ours, by the agreement with the keeper. */
const PIPE = 3;
/** Bytes of answers that nobody reads above which refusals are not sent any more. */
const ENOUGH_WAITING = 65_536;
const LOAD_ATTEMPTS = 12;
const LOAD_AGAIN_MS = 5000;

/** Fires when somebody asks this process to go. */
const told = new AbortController();
let takingOver = false;

for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('SIGTERM', () => {
  // The app, if it lives, starts another one.
  if (!takingOver) process.exit(0);
  told.abort();
});
process.on('uncaughtException', fail);
process.on('unhandledRejection', fail);

function fail(error: unknown): never {
  say('failed', error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exit(1);
}

interface Watched {
  readonly kept: Kept;
  /** Which run of the app was said to be the latest when this one said hello. */
  readonly latestRun: string | null;
}

function watch(pipe: Socket): Promise<Watched | null> {
  let latest: string | null = null;
  const watcher = new Watcher(process.pid, (message) => {
    if (pipe.destroyed || (message.type === 'refused' && pipe.writableLength > ENOUGH_WAITING)) return;
    pipe.write(line(message));
    if (message.type === 'hello' && watcher.kept !== null) latest = latestRun(watcher.kept.hello.paths);
    if (message.type === 'refused') say('refused', message.why);
    // Nothing is left to be done: gone as soon as the app knows that its farewell has arrived.
    if (message.type === 'ack' && watcher.kept?.farewell === 'nothing') pipe.end();
  });
  pipe.on('data', (chunk: Buffer) => watcher.take(chunk));
  return new Promise((done) => {
    // A reset by a dying app ends the pipe as well; `close` follows.
    pipe.on('error', () => undefined);
    pipe.on('close', () => done(watcher.kept === null ? null : { kept: watcher.kept, latestRun: latest }));
  });
}

/** The rest of the guard. An upgrade that is under way may have taken it away for a moment. */
async function loadCore(): Promise<typeof import('./take-over.ts')> {
  // A computed address keeps the bundler from pulling it into this file.
  const core: string = new URL('./guard-core.js', import.meta.url).href;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return (await import(attempt === 1 ? core : `${core}?${attempt}`)) as typeof import('./take-over.ts');
    } catch (error) {
      if (attempt === LOAD_ATTEMPTS || told.signal.aborted) throw error;
      say('failed', `the core could not be loaded: ${messageOf(error)}`);
    }
    await new Promise((done) => setTimeout(done, LOAD_AGAIN_MS));
  }
}

const watched = await watch(new Socket({ fd: PIPE, readable: true, writable: true }));
takingOver = true;
if (watched === null) {
  say('nothing-to-do', 'the app went away before it had said hello');
} else if (watched.kept.farewell !== 'nothing') {
  const { kept } = watched;
  const { takeOver } = await loadCore();
  await takeOver({ ...kept, latestRun: watched.latestRun, signal: told.signal, env: process.env });
}
// Workers or sockets that something left open must not keep it.
process.exit(0);
