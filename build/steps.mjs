// Running a command as a visible step. Plain Node only: these run before node_modules exists.
import { spawn } from 'node:child_process';

/** How many lines of a failed command's output are worth showing. */
const TAIL_LINES = 40;

/** A command ended badly. `tail` is the end of its output, `message` one sentence. */
export class StepFailed extends Error {
  name = 'StepFailed';
  constructor(command, how, tail) {
    super(`${command} ${how}`);
    this.command = command;
    this.how = how;
    this.tail = tail;
  }
}

/** The last lines of a text. */
export function tailOf(text, lines = TAIL_LINES) {
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}

/**
 * Runs a command to its end and keeps its output.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{cwd?: string, env?: NodeJS.ProcessEnv, timeoutMs?: number}} options
 * @returns {Promise<string>} what it printed on either stream
 * @throws {StepFailed} when it cannot start, exits other than 0, or takes longer than `timeoutMs`
 */
export function runQuietly(command, args, { cwd, env = process.env, timeoutMs = 0 } = {}) {
  const shown = [command, ...args].join(' ');
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    let late = false;
    const timer =
      timeoutMs === 0
        ? undefined
        : setTimeout(() => {
            late = true;
            child.kill('SIGKILL');
          }, timeoutMs);
    const take = (chunk) => {
      output += chunk;
    };
    child.stdout.setEncoding('utf8').on('data', take);
    child.stderr.setEncoding('utf8').on('data', take);
    child.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      clearTimeout(timer);
      const how = error.code === 'ENOENT' ? 'is not installed' : `could not be started: ${error.message}`;
      reject(new StepFailed(command, how, ''));
    });
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (code === 0) resolve(output);
      else if (late) reject(new StepFailed(shown, `took longer than ${timeoutMs / 1000} s`, tailOf(output)));
      else
        reject(new StepFailed(shown, signal ? `was ended by ${signal}` : `exited with code ${code}`, tailOf(output)));
    });
  });
}

/** `3 s`, `2 min 5 s`. */
export function seconds(ms) {
  const whole = Math.round(ms / 1000);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/**
 * Shows a step while it runs: on a terminal one line whose seconds tick, elsewhere a line at the start and one at the
 * end. Anything the step prints itself must go through the `say` it is given.
 *
 * @template T
 * @param {string} name what is being done, as `Installing npm packages`
 * @param {(say: (line: string) => void) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(name, work, out = process.stderr) {
  const begun = performance.now();
  const elapsed = () => seconds(performance.now() - begun);
  let ticking;
  const draw = () => out.write(`\r\x1b[2K${name}… ${elapsed()}`);
  if (out.isTTY) {
    draw();
    ticking = setInterval(draw, 1000);
  } else {
    out.write(`${name}…\n`);
  }
  const finish = (mark) => {
    clearInterval(ticking);
    out.write(`${out.isTTY ? '\r\x1b[2K' : ''}${name}: ${mark}, ${elapsed()}\n`);
  };
  const say = (line) => {
    out.write(`${out.isTTY ? '\r\x1b[2K' : ''}  ${line}\n`);
    if (out.isTTY) draw();
  };
  try {
    const result = await work(say);
    finish('done');
    return result;
  } catch (error) {
    finish('failed');
    throw error;
  }
}
