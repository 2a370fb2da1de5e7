/** The real standard streams. */
import { homedir } from 'node:os';
import { createInterface } from 'node:readline';
import type { Io } from './io.ts';

/** @param listenForInterrupt makes Ctrl-C end the command in order instead of ending the process */
export function terminalIo(listenForInterrupt: boolean): Io {
  const { stdin, stdout, stderr, env } = process;
  const controller = new AbortController();
  // A reader such as `head` that has seen enough is no failure; whatever is under way is finished anyway.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') stderr.write(`rollcall: standard output: ${error.message}\n`);
    controller.abort();
  });
  // Where messages cannot be read, there is nobody to tell.
  stderr.on('error', () => undefined);
  const listen = (): void => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => controller.abort());
  };
  if (listenForInterrupt) listen();
  return {
    out(text) {
      if (controller.signal.aborted || !stdout.writable) return Promise.resolve();
      return new Promise((done) => {
        stdout.write(text, () => done());
      });
    },
    say: (line) => void stderr.write(`${line}\n`),
    outIsTerminal: stdout.isTTY === true,
    canAsk: stdin.isTTY === true && stderr.isTTY === true,
    ask(question) {
      return new Promise((done) => {
        const lines = createInterface({ input: stdin, output: stderr });
        // Ctrl-D and Ctrl-C are no yes either.
        lines.once('close', () => done(false));
        lines.question(`${question} [y/N] `, (answer) => {
          done(/^y(es)?$/iu.test(answer.trim()));
          lines.close();
        });
      });
    },
    columns: () => (stdout.isTTY === true ? Math.max(40, stdout.columns || 80) : null),
    // https://no-color.org: present and not empty.
    colour: stdout.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb',
    home: homedir(),
    cwd: process.cwd(),
    ended: controller.signal,
    listenForInterrupt: listen,
  };
}
