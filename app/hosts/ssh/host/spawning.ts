/** Starts programs on a remote machine that outlive the connection. */
import type { ProcessRef } from '../../../identity/identity.ts';
import { type ExitStatus, SpawnFailed, type SpawnRequest } from '../../host.ts';
import psScript from '../remote/ps.sh';
import spawnScript from '../remote/spawn.sh';
import { quoted } from './frame.ts';
import { listedSeen } from './listing.ts';
import { placeOf, seenIn } from './observing.ts';
import type { RemotePlatform } from './platform.ts';
import type { RemoteShell } from './shell.ts';

const DEADLINE_MS = 15_000;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/u;
/** What a shell, or env, ends with when a program or its interpreter is missing or may not be run. */
const NOT_FOUND: ReadonlySet<number> = new Set([126, 127]);
const TAIL_LINES = 12;

export interface RemoteChild {
  readonly ref: ProcessRef;
  /** It had ended before the script came back; null while it runs. */
  readonly ended: ExitStatus | null;
}

function lastLines(text: string): string | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.length === 0 ? null : lines.slice(-TAIL_LINES).join('\n');
}

/** What is missing, by the words of env, of a shell or of the kernel: "env: 'node': No such file or directory". */
function missingIn(output: string | null): string | null {
  const words =
    /env: (?:can't execute )?['‘]?([^\s'’:]+)['’]?: No such file|(?:^|: )([\w./-]+): (?:command )?not found/mu;
  const [, byEnv, byShell] = words.exec(output ?? '') ?? [];
  return byEnv ?? byShell ?? null;
}

/** @throws SpawnFailed when it did not start; SshFailed when it is not known whether it did */
export async function spawnRemote(
  shell: RemoteShell,
  contact: RemotePlatform,
  request: SpawnRequest,
): Promise<RemoteChild> {
  const { argv, cwd, env, logPath } = request;
  const [program] = argv;
  const environment = Object.entries(env).map(([name, value]) => {
    if (!VARIABLE.test(name)) throw new TypeError(`${name} is no name of an environment variable`);
    return `${name}=${quoted(value)}; export ${name}`;
  });
  const answer = await shell.run(
    spawnScript,
    {
      proc: contact.processes,
      cwd,
      log: logPath,
      argv: argv.map(quoted).join(' '),
      environment: environment.join('\n'),
    },
    DEADLINE_MS,
    { ownLocale: true },
  );
  const failed = answer.sections.find(({ name }) => name === 'failed');
  if (failed !== undefined) {
    const remedy =
      failed.rest === 'ENOENT'
        ? 'Give the absolute path of the program in the settings, or put it on the PATH of a shell without a login.'
        : 'Check the folder and the space and permissions there.';
    const code = failed.rest === 'ENOENT' ? 'ENOENT' : null;
    const why = failed.bytes.toString('utf8').trim();
    throw new SpawnFailed(program, code, `${program} could not be started on ${shell.host}: ${why}. ${remedy}`, null);
  }
  const pid = Number(answer.text('child'));
  const place = placeOf(answer, contact);
  const byPs = contact.processes === 'ps';
  const seen = byPs
    ? listedSeen(await shell.run(psScript, { what: 'observe', pids: pid }, DEADLINE_MS), pid, place)
    : seenIn(answer, pid, place, false);
  const exited = answer.sections.find(({ name }) => name === 'exited');
  const code = exited === undefined ? null : Number(exited.rest);
  if (exited !== undefined && code !== null && NOT_FOUND.has(code)) {
    const output = lastLines(exited.bytes.toString('utf8'));
    const missing = missingIn(output);
    throw new SpawnFailed(
      program,
      'ENOENT',
      missing !== null && missing !== program
        ? `${program} needs ${missing}, which was not found on the PATH of ${shell.host} without a login. ` +
            'Put it on that PATH, or give the absolute path of a program that needs nothing else in the settings.'
        : `${program} could not be run on ${shell.host} (it ended with ${code}). ` +
            'Give the absolute path of the program in the settings.',
      output,
    );
  }
  if (seen.found !== 'process') {
    throw new SpawnFailed(
      program,
      null,
      `${program} was started on ${shell.host}, but had ended before it could be identified. Look at ${logPath} there.`,
      exited === undefined ? null : lastLines(exited.bytes.toString('utf8')),
    );
  }
  const { executable, argvHash } = seen.evidence;
  const path = answer.text('path') ?? executable?.path ?? '';
  return {
    ref: {
      identity: seen.identity,
      evidence: { executable: executable === null ? null : { ...executable, path }, argvHash },
    },
    ended: code === null ? null : statusOf(code),
  };
}

/** A shell tells a signal as 128 and its number. */
function statusOf(code: number): ExitStatus {
  const signals: Readonly<Record<number, string>> = {
    129: 'SIGHUP',
    130: 'SIGINT',
    134: 'SIGABRT',
    137: 'SIGKILL',
    139: 'SIGSEGV',
    143: 'SIGTERM',
  };
  const signal = signals[code] ?? null;
  return signal === null ? { code, signal: null } : { code: null, signal };
}
