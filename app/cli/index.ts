#!/usr/bin/env node
import { homedir } from 'node:os';
/** The `rollcall` command. Loads only what the command needs: help must come at once. */
import { messageOf } from '../util/errors.ts';
import { helpFor, helpForAll } from './commands.ts';
import { type Arguments, type Context, DONE, type ExitCode, FAILED, USAGE, UsageError } from './io.ts';
import { parseCommandLine } from './parse.ts';
import { terminalIo } from './terminal-io.ts';
import { programVersion } from './version.ts';

/** How long an acting command waits for another command, in milliseconds. */
const WAIT_MS = 10_000;

/** Whether a command may start an ssh of its own. */
function connects(command: string, args: Arguments): boolean {
  return command === 'connect' || command === 'disconnect' || args.value('host') !== undefined;
}

async function main(words: readonly string[]): Promise<ExitCode> {
  const parsed = parseCommandLine(words);
  const io = terminalIo(parsed.kind === 'command' && parsed.args.has('watch'));
  if (parsed.kind === 'version') await io.out(`rollcall ${programVersion()}\n`);
  if (parsed.kind === 'help') await io.out(parsed.entry === null ? helpForAll() : helpFor(parsed.entry));
  if (parsed.kind !== 'command') return DONE;
  const { resolvePaths } = await import('../config/paths.ts');
  const paths = resolvePaths({
    env: process.env,
    platform: process.platform,
    uid: process.getuid?.() ?? null,
    home: homedir(),
  });
  const context: Context = {
    io,
    auditFile: paths.auditFile,
    sessionsFile: paths.sessionsFile,
    async open(mode, options = { hears: false }) {
      const { openCore } = await import('./core-for.ts');
      const handle = await openCore(mode, {
        controlSocket: paths.controlSocket,
        writerLock: paths.writerLock,
        runtimeDir: paths.runtimeDir,
        version: programVersion(),
        waitMs: WAIT_MS,
        say: io.say,
        async prepareGuard() {
          const { createGuardClient } = await import('../guard/create-guard-client.ts');
          const { detachGuard } = await import('../guard/detach-guard.ts');
          const keeper = await createGuardClient({
            paths,
            out: import.meta.dirname,
            version: programVersion(),
            env: process.env,
          });
          return (servers) => detachGuard(keeper, servers);
        },
        async openLocal(localMode, lock) {
          const { openForCli } = await import('./local.ts');
          return openForCli(paths, localMode, lock, options.hears);
        },
      });
      if (handle.origin === 'app' || !connects(parsed.name, parsed.args)) return handle;
      const { closingFirst } = await import('./in-order.ts');
      return closingFirst(handle, () => {
        io.say('Interrupted. The connection is closed; rollcall list --host shows what was done there.');
        process.exit(FAILED);
      });
    },
  };
  const run = await parsed.entry.load();
  return run(context, parsed.args);
}

async function start(): Promise<ExitCode> {
  try {
    return await main(process.argv.slice(2));
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`rollcall: ${error.message} ${error.hint}\n`);
      return USAGE;
    }
    process.stderr.write(`rollcall: ${messageOf(error)}\n`);
    return FAILED;
  }
}

// A worker or a socket that something left open must not keep a finished command alive; all output is written by now.
process.exit(await start());
