/** Innocent processes that must never feel a signal, put onto the very PID that somebody has recorded. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endOrphanAfterTest, PYTHON, python, SPAWN_AT, startTicks, temporaryFolder, until } from './processes.ts';

/** Writes each signal it gets to a file, and keeps running; SIGKILL and SIGSTOP show by its state alone. */
export const WITNESS = `
import signal, sys, time
out = open(sys.argv[1], 'a', buffering=1)
for number in range(1, 65):
    try: signal.signal(number, lambda n, frame: out.write(f'{n}\\n'))
    except (OSError, ValueError): pass
out.write('ready\\n')
while True: time.sleep(60)
`;

/** SIGWINCH, which nobody else sends; Python handles signals in the order of their numbers. */
const LAST = 28;

export interface Witness {
  readonly pid: number;
  /** Numbers of the signals that it got; `gone` when it is no longer there. */
  felt(): Promise<readonly string[]>;
}

/**
 * Starts a program with exactly this PID, as soon as the number is free. It is ended with the test.
 *
 * @returns null when it runs, else why this machine does not let a PID be chosen
 */
export async function occupy(pid: number, argv: readonly string[], cwd = '/'): Promise<string | null> {
  await until(`PID ${pid} is free`, () => startTicks(pid) === null);
  const spawner = python(
    `${SPAWN_AT}
import sys, time
os.chdir(sys.argv[2])
try: print(spawn_at(int(sys.argv[1]), sys.argv[3:]), flush=True)
except OSError as error: print(error, flush=True)
time.sleep(600)
`,
    [String(pid), cwd, ...argv],
  );
  const made = await spawner.line();
  if (made !== String(pid)) return `this machine does not let a PID be chosen: ${made}`;
  endOrphanAfterTest(pid);
  return null;
}

/** A witness on exactly this PID; a text says why there can be none here. */
export async function witnessAt(pid: number): Promise<Witness | string> {
  const log = join(temporaryFolder(), 'signals');
  writeFileSync(log, '');
  const problem = await occupy(pid, [PYTHON, '-c', WITNESS, log]);
  if (problem !== null) return problem;
  await until('the witness is ready', () => readFileSync(log, 'utf8') === 'ready\n');
  const ticks = startTicks(pid);
  let asked = 0;
  return {
    pid,
    felt: async () => {
      const felt = () => readFileSync(log, 'utf8').split('\n').slice(1, -1);
      if (startTicks(pid) !== ticks) return [...felt(), 'gone'];
      // Whatever was sent before this one is written down before it.
      process.kill(pid, LAST);
      const seen = () => felt().filter((number) => number === String(LAST)).length;
      asked += 1;
      await until('the witness has told of everything', () => seen() >= asked || startTicks(pid) !== ticks);
      const others = felt().filter((number) => number !== String(LAST));
      return startTicks(pid) === ticks ? others : [...others, 'gone'];
    },
  };
}
