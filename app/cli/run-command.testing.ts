/** Runs a command over a fake core as the command line would, for tests. */
import { FakeCore } from '../control/fake-core.testing.ts';
import type { Roll } from '../roll/schema.ts';
import type { CommandRun, CoreHandle, Io, OpenOptions } from './io.ts';
import { parseCommandLine } from './parse.ts';

export interface CommandRan {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly core: FakeCore;
  /** How the core was opened, each time. */
  readonly opened: readonly (readonly ['read' | 'act', OpenOptions | undefined])[];
}

export interface RunOptions {
  /** Before the command begins. */
  readonly set?: (core: FakeCore) => void;
  readonly origin?: CoreHandle['origin'];
  /** What a person at a terminal answers; absent where nobody can be asked. */
  readonly answer?: boolean;
  readonly auditFile?: string;
  readonly sessionsFile?: string;
  /** Ends a command that goes on until Ctrl-C. */
  readonly ended?: AbortSignal;
}

export async function runCommand(
  entry: CommandRun,
  line: string,
  roll: Roll,
  options: RunOptions = {},
): Promise<CommandRan> {
  const core = new FakeCore(roll);
  options.set?.(core);
  const opened: (readonly ['read' | 'act', OpenOptions | undefined])[] = [];
  let out = '';
  let err = '';
  const io: Io = {
    async out(text) {
      out += text;
    },
    say(text) {
      err += `${text}\n`;
    },
    outIsTerminal: false,
    canAsk: options.answer !== undefined,
    async ask(question) {
      err += `${question}\n`;
      return options.answer === true;
    },
    columns: () => null,
    colour: false,
    home: '/home/me',
    cwd: '/home/me/src',
    ended: options.ended ?? new AbortController().signal,
    listenForInterrupt: () => undefined,
  };
  const parsed = parseCommandLine(line.split(' '));
  if (parsed.kind !== 'command') throw new Error('no command');
  const code = await entry(
    {
      io,
      auditFile: options.auditFile ?? '/nowhere',
      sessionsFile: options.sessionsFile ?? '/nowhere',
      async open(mode, how) {
        opened.push([mode, how]);
        return {
          core,
          origin: options.origin ?? 'app',
          lost: new Promise(() => undefined),
          watchOwners: async () => undefined,
          close: async () => undefined,
        };
      },
    },
    parsed.args,
  );
  return { code, out, err, core, opened };
}
