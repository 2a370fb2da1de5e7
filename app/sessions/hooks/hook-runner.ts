/**
 * Starts the process that runs a hook (run-hook.sh), and holds it at its gate until whoever starts it has written down who
 * it is: so no hook runs of which the next one of us would not know.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { LOCAL_HOST, type SessionEndHook } from '../../config/schema.ts';
import type { Host } from '../../hosts/host.ts';
import type { ProcessRef } from '../../identity/identity.ts';
import { loginPath } from '../../servers/start/login-path.ts';
import { findOnPath } from '../../servers/start/programs.ts';
import { atomicWrite } from '../../util/atomic-write.ts';
import { messageOf } from '../../util/errors.ts';
import { ensurePrivateFolder } from '../../util/folders.ts';
import { loadLibc } from '../../util/libc.ts';
import type { SessionRun } from '../session-run.ts';
import type { DueHook } from '../store/ledger.ts';
import { eventOf, hookEnvironment } from './hook-event.ts';
import { attemptFiles, eventFile } from './hook-files.ts';
import script from './run-hook.sh';

const SHELL = '/bin/sh';

/** A hook's runner could not be started; nothing of the hook has run. */
export class RunnerFailed extends Error {
  override readonly name = 'RunnerFailed';
  /** A clause about the hook. */
  readonly why: string;
  constructor(why: string, cause?: unknown) {
    super(`A session-end hook was not run: ${why}.`, { cause });
    this.why = why;
  }
}

export interface RunnerDeps {
  readonly host: Pick<Host, 'inspect'>;
  /** Where the files of hooks are. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
}

/** A runner that waits at its gate. */
export interface Runner {
  readonly ref: ProcessRef;
  /** Lets it run the hook. */
  go(): void;
  /** Lets it end without having run anything. */
  abandon(): void;
  /** Resolves when it has exited. */
  readonly exited: Promise<void>;
}

/**
 * @param number of this attempt
 * @param graceSeconds how long a hook may take to end once it has been asked to
 * @throws RunnerFailed, WriteFailed, FolderFailed, UnsafeFolder
 */
export async function startRunner(
  parts: RunnerDeps,
  due: DueHook,
  hook: SessionEndHook,
  number: number,
  graceSeconds: number,
): Promise<Runner> {
  const { folder, env, home } = parts;
  const event = eventOf(due);
  ensurePrivateFolder(folder);
  await atomicWrite(eventFile(folder, due.key), `${JSON.stringify(event)}\n`);
  const environment = hookEnvironment(env, await pathFor(env, hook.command[0]), event);
  const files = attemptFiles(folder, due.key, number);
  const args = [files, eventFile(folder, due.key), String(hook.timeoutSeconds), String(graceSeconds)];
  // Chromium and whoever started us may have left descriptors open that would live on in the hook.
  const libc = await loadLibc();
  if (libc.loaded) libc.libc.closeAllOnExec();
  const child = spawn(SHELL, ['-c', script, 'rollcall-hook', ...args, ...hook.command], {
    cwd: folderFor(due.life, home),
    env: environment,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  return await atGate(parts, child);
}

async function atGate({ host }: RunnerDeps, child: ChildProcess): Promise<Runner> {
  const gate = child.stdin;
  // One that has gone breaks its pipe; its exit tells that.
  gate?.on('error', () => undefined);
  const exited = new Promise<void>((done) => child.once('exit', () => done()));
  const failed = new Promise<Error>((fail) => child.once('error', fail));
  const { pid } = child;
  if (pid === undefined || gate === null) {
    const error = await failed;
    throw new RunnerFailed(`${SHELL} could not be started (${error.message})`, error);
  }
  try {
    const info = await host.inspect(pid);
    // What it does at its end reaches all of its group: that must be its own, and it must be the child that was made.
    if (info === null || info.ppid !== process.pid || info.pgrp !== pid) {
      throw new RunnerFailed('its runner could not be identified');
    }
    const { identity, executable, argvHash } = info;
    return {
      ref: { identity, evidence: { executable, argvHash } },
      go: () => {
        gate.end('go\n');
        child.unref();
      },
      abandon: () => void gate.destroy(),
      exited,
    };
  } catch (error) {
    gate.destroy();
    if (error instanceof RunnerFailed) throw error;
    const what = messageOf(error);
    throw new RunnerFailed(`its runner could not be read (${what})`, error);
  }
}

/** The session's folder where it is on this machine and can be entered, else the person's home. */
function folderFor({ host, directory }: SessionRun, home: string): string {
  if (host !== LOCAL_HOST || directory === null) return home;
  try {
    accessSync(directory, constants.X_OK);
    return statSync(directory).isDirectory() ? directory : home;
  } catch {
    // It is gone, or was never here.
    return home;
  }
}

/** Our own PATH; that of the login shell where the program is only there: a desktop starts its applications with less. */
async function pathFor(env: RunnerDeps['env'], program: string): Promise<string> {
  const own = env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin';
  if (program.includes('/') || (await findOnPath(own, program)) !== null) return own;
  const login = await loginPath(env);
  return login !== null && (await findOnPath(login, program)) !== null ? login : own;
}
