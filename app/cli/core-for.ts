/**
 * Finds the supervisor to work with (DESIGN "One writer"): with the app running, its own over the control socket;
 * else one in this process, read-only or, to act, under the writer's lock.
 */
import { ControlAbsent, ControlFailed, ControlLost, connectControl } from '../control/client.ts';
import type { DetachedGuard } from '../guard/detach-guard.ts';
import type { LocalCore, Supervised } from '../supervisor/core.ts';
import { plural } from '../text/words.ts';
import { acquireWriter, holderLabel, socketOfHolder, WriterHeld, type WriterLock } from '../writer/writer-lock.ts';
import type { CoreHandle } from './io.ts';

/** How long the app may take to answer, in milliseconds. */
const CONNECT_MS = 5000;
/** How often the lock is tried while somebody else holds it, in milliseconds. */
const RETRY_MS = 200;
/** How long a start that was interrupted may take to be given up, in milliseconds. */
const GIVE_UP_MS = 10_000;

export interface CoreSource {
  readonly controlSocket: string;
  readonly writerLock: string;
  /** Local folder of ours for a state folder that cannot be locked. */
  readonly runtimeDir: string;
  readonly version: string;
  /** How long to wait for another holder of the lock, in milliseconds. */
  readonly waitMs: number;
  /** Opens a supervisor in this process. `lock` is null for reading; the core releases it when it closes. */
  openLocal(mode: 'read' | 'act', lock: WriterLock | null): Promise<LocalCore>;
  /**
   * Makes ready, while the lock is held, to leave a guard behind. What it returns starts the guard, which comes into
   * its own once the lock is free.
   */
  prepareGuard(): Promise<(servers: readonly Supervised[]) => Promise<DetachedGuard>>;
  /** Tells the person something while they wait. */
  say(line: string): void;
}

/**
 * Opens a core. Reading takes no lock and changes nothing on disk; acting waits for another command to finish.
 *
 * @throws WriterHeld when the lock's holder is neither reachable nor gone in time; WriterUnavailable when the state
 *   folder cannot be locked; ControlFailed when the app is there but cannot be talked to
 */
export async function openCore(mode: 'read' | 'act', source: CoreSource): Promise<CoreHandle> {
  return mode === 'read' ? openToRead(source) : openToAct(source);
}

async function openToRead(source: CoreSource): Promise<CoreHandle> {
  try {
    const client = await fromApp(source);
    if (client !== null) return client;
  } catch (error) {
    if (!(error instanceof ControlFailed)) throw error;
    // To read is harmless, so a hung app does not keep the person from seeing what runs.
    source.say(`${error.message} This is a look of its own.`);
  }
  return fromHere(source, 'read', null);
}

async function openToAct(source: CoreSource): Promise<CoreHandle> {
  const until = performance.now() + source.waitMs;
  let said = false;
  for (;;) {
    // An app that is just starting holds the lock before it listens, so both are tried each time.
    const client = await fromApp(source);
    if (client !== null) return client;
    try {
      const { writerLock, runtimeDir, version } = source;
      const lock = await acquireWriter(writerLock, { holder: 'cli', version, fallbackFolder: runtimeDir });
      if (lock.warning !== null) source.say(lock.warning);
      return await fromHere(source, 'act', lock);
    } catch (error) {
      if (!(error instanceof WriterHeld) || performance.now() > until) throw error;
      if (!said) source.say(`${holderLabel(error.holder)}${pidWords(error.pid)} is at work. Waiting for it.`);
      said = true;
    }
    await new Promise((done) => setTimeout(done, RETRY_MS));
  }
}

function pidWords(pid: number | null): string {
  return pid === null ? '' : `, PID ${pid},`;
}

/** Null when the app does not run. */
async function fromApp(source: CoreSource): Promise<CoreHandle | null> {
  const elsewhere = socketOfHolder(source.writerLock);
  return (
    (await fromSocket(source.controlSocket, source.version)) ??
    (elsewhere === null || elsewhere === source.controlSocket ? null : await fromSocket(elsewhere, source.version))
  );
}

async function fromSocket(path: string, version: string): Promise<CoreHandle | null> {
  try {
    const client = await connectControl(path, CONNECT_MS, { version });
    return {
      core: client,
      origin: 'app',
      lost: client.lost,
      watchOwners: async () => undefined,
      close: async () => client.close(),
    };
  } catch (error) {
    // One that goes away while it is being connected to is not there either.
    if (error instanceof ControlAbsent || error instanceof ControlLost) return null;
    throw error;
  }
}

async function fromHere(source: CoreSource, mode: 'read' | 'act', lock: WriterLock | null): Promise<CoreHandle> {
  let core: LocalCore;
  try {
    core = await source.openLocal(mode, lock);
  } catch (error) {
    await lock?.release();
    throw error;
  }
  let left: DetachedGuard | null = null;
  return {
    core,
    origin: 'local',
    lost: new Promise(() => undefined),
    async watchOwners() {
      if (lock !== null) left ??= await (await source.prepareGuard())([]);
    },
    close: () => (lock === null ? core.close(false, 0).then(() => undefined) : leave(core, lock, left, source)),
  };
}

/**
 * What this command started stays: the app adopts it, or the next command finds its record. Servers that are bound to
 * a process need somebody who sees that go away.
 */
async function leave(core: LocalCore, lock: WriterLock, left: DetachedGuard | null, source: CoreSource): Promise<void> {
  const bound = core.supervised().filter(({ record }) => record.owner !== null);
  let startGuard: Awaited<ReturnType<CoreSource['prepareGuard']>> | null = null;
  try {
    if (bound.length > 0 && left?.stays() !== true) startGuard = await source.prepareGuard();
    await core.close(false, GIVE_UP_MS);
  } finally {
    await lock.release();
  }
  const why = startGuard === null ? null : (await startGuard(bound)).why;
  if (why === null) return;
  source.say(
    `Nobody watches the owner of ${plural(bound.length, 'server')}: the guard does not run. ${why} Start the Rollcall app to have each stopped when its owner goes away.`,
  );
}
