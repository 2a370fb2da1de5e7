// Runs a script in a PID namespace of its own, so that tests which look at "the whole machine" and reap what is leaked
// on it see only what they have started themselves, and nothing of the person who runs them.
import { spawn, spawnSync } from 'node:child_process';
import process from 'node:process';

/** Set inside; its value says how it was entered. */
export const INSIDE = 'ROLLCALL_PRIVATE_PIDS';

/**
 * Ways to get a namespace: as root, or in a user namespace that keeps the person's own id. `--kill-child` ends
 * everything inside when the outer end goes away.
 */
const WAYS = [
  { name: 'as root', flags: ['--pid', '--fork', '--mount-proc', '--kill-child'] },
  {
    name: 'in a user namespace',
    flags: ['--user', '--map-current-user', '--pid', '--fork', '--mount-proc', '--kill-child'],
  },
];

/** bash, since the first process of a namespace inherits its orphans and must collect them. `; exit` keeps it alive. */
const FIRST_PROCESS = ['bash', '-c', '"$@"; exit $?', 'first-process'];

/** A network of its own has a loopback that is down at first. */
const LOOPBACK_UP = ['bash', '-c', 'ip link set lo up && "$@"; exit $?', 'first-process'];

function works(flags, first) {
  return spawnSync('unshare', [...flags, ...first, 'true'], { stdio: 'ignore' }).status === 0;
}

function workingWay() {
  return process.platform === 'linux' ? (WAYS.find(({ flags }) => works(flags, FIRST_PROCESS)) ?? null) : null;
}

/**
 * The command that runs `node script ...words` in a namespace of its own, with the environment it needs; null where none
 * can be had. Namespaces nest: each part of the tests gets one inside that of the whole run.
 *
 * @param {string} script
 * @param {string[]} words
 * @param {{network?: boolean}} [options] `network`: also ports and a loopback of its own, where that can be had
 */
export function privately(script, words = [], { network = false } = {}) {
  const way = workingWay();
  if (way === null) return null;
  const own = network && works([...way.flags, '--net'], LOOPBACK_UP);
  const [flags, first] = own ? [[...way.flags, '--net'], LOOPBACK_UP] : [way.flags, FIRST_PROCESS];
  return {
    command: 'unshare',
    args: [...flags, ...first, process.execPath, script, ...words],
    env: { ...process.env, [INSIDE]: way.name },
  };
}

/**
 * Runs `node script ...words` inside, with this terminal. Resolves with its exit code; null where no namespace can be
 * had, and then nothing was run.
 */
export async function runInside(script, words = []) {
  const inside = privately(script, words);
  if (inside === null) return null;
  const child = spawn(inside.command, inside.args, { stdio: 'inherit', env: inside.env });
  // A terminal's Ctrl-C reaches everything by itself. A signal to this process alone has to be handed on, and unshare
  // ignores it while it waits: only with its death the kernel ends the namespace and everything in it.
  const end = () => child.kill('SIGKILL');
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, end);
  process.on('SIGINT', () => undefined);
  return new Promise((resolve) => child.once('close', (code, signal) => resolve(signal === null ? code : 1)));
}
