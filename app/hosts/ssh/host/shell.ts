/** Runs scripts on one remote account and tells what went wrong when no answer came of it. */

import { SshFailed } from '../../ssh-failed.ts';
import type { ExecResult, RemoteExec } from '../contract.ts';
import { compose, type FrameSection, type Parameters, parseFrame } from './frame.ts';

const OUTPUT_LINES = 8;
const OUTPUT_LENGTH = 2000;

/** The parts of an answer. */
export class ScriptAnswer {
  readonly sections: readonly FrameSection[];

  constructor(sections: readonly FrameSection[]) {
    this.sections = sections;
  }

  /** The bytes of the first part with this name; null when there is none. */
  bytes(name: string, rest?: string): Buffer | null {
    return (
      this.sections.find((each) => each.name === name && (rest === undefined || each.rest === rest))?.bytes ?? null
    );
  }

  /** The same as text, without blanks around it. */
  text(name: string, rest?: string): string | null {
    return this.bytes(name, rest)?.toString('utf8').trim() ?? null;
  }

  has(name: string): boolean {
    return this.sections.some((each) => each.name === name);
  }
}

/** What accounts without a POSIX shell say, and what that means to a person. */
const REFUSALS: readonly (readonly [RegExp, string, string])[] = [
  [
    /is not recognized as an internal or external command/u,
    'windows',
    'runs Windows, which is not supported over SSH yet',
  ],
  [/The term 'sh' is not recognized/u, 'powershell', 'answers with PowerShell and has no sh, which is not supported'],
  [/account is currently not available|nologin/iu, 'no-login', 'does not let this account log in'],
  [/git shell|git-shell|does not provide shell access|unrecognized command/iu, 'git-only', 'serves Git only'],
  [/sftp connections only/iu, 'sftp-only', 'serves file transfer only'],
  [/sh: (?:command )?not found|Unknown command:? '?sh|exec.*sh.*not found/iu, 'no-shell', 'has no sh'],
];

function linesOf(...texts: readonly string[]): string | null {
  const lines = texts.flatMap((text) => text.split('\n').map((line) => line.trim())).filter((line) => line !== '');
  return lines.length === 0 ? null : lines.slice(0, OUTPUT_LINES).join('\n').slice(0, OUTPUT_LENGTH);
}

/** No line of ours arrived: the account did not run a POSIX shell. */
export function noShell(host: string, { stdout, stderr, code }: ExecResult): SshFailed {
  const output = linesOf(stdout.toString('utf8', 0, OUTPUT_LENGTH), stderr);
  const known = REFUSALS.find(([pattern]) => output !== null && pattern.test(output));
  if (known !== undefined) {
    const [, word, says] = known;
    const remedy = 'Use an account whose login shell can run sh on Linux or macOS.';
    return new SshFailed(host, 'shell', word, `${host} ${says}.`, remedy, output);
  }
  const how = code === null ? 'ended by a signal' : `ended with code ${code}`;
  return new SshFailed(
    host,
    'shell',
    'no-answer',
    `${host} let the connection in, but did not run sh: it ${how}${output === null ? ' and said nothing' : ''}.`,
    'Check that this account may run commands and that its login shell or a forced command does not replace them.',
    output,
  );
}

export class RemoteShell {
  readonly host: string;
  readonly #exec: RemoteExec;

  constructor(host: string, exec: RemoteExec) {
    this.host = host;
    this.#exec = exec;
  }

  /**
   * Runs one script to its end.
   *
   * @throws SshFailed when the link is lost, no shell ran it, its answer is incomplete, or it failed
   */
  async run(
    script: string,
    parameters: Parameters,
    deadlineMs: number,
    options: { readonly ownLocale?: boolean } = {},
  ): Promise<ScriptAnswer> {
    const { input, marker } = compose(script, parameters, options);
    const result = await this.#exec.exec(input, deadlineMs);
    const frame = parseFrame(result.stdout, marker);
    if (frame.found === 'nothing') throw noShell(this.host, result);
    const output = linesOf(result.stderr);
    if (frame.found === 'cut-off') {
      const message = `The answer of ${this.host} was cut off, so nothing can be said of its processes.`;
      throw new SshFailed(this.host, 'probe', 'cut-off', message, 'The next look tries again.', output);
    }
    if (frame.status !== 0) {
      const message = `A script ended with ${frame.status} on ${this.host}, so its answer counts for nothing.`;
      const remedy = 'The details show what it said; the next look tries again.';
      throw new SshFailed(this.host, 'probe', 'script-failed', message, remedy, output);
    }
    return new ScriptAnswer(frame.sections);
  }
}
