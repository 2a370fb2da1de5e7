import { executableAgrees, invocationOf, optionValue, portOf, positionals } from './argv.ts';
import type { Recognisable, Recognition } from './kind.ts';

const GRAMMAR = { flags: new Set(['--no-browser', '--help', '-h', '--version', '-v', '--verbose']) };

/** Script names of the tool itself: its bin link, and the entry file of its package `t3`. */
const ENTRY = /(?:^|\/)t3\/(?:dist|bin)\/[\w-]+\.[cm]?js$/u;

/**
 * Recognises `t3 serve`, native or run by node or bun. The word alone proves nothing (an unrelated time tracker has the
 * same name), so `serve` must be its first argument. `run-t3.sh` is the launcher that its SSH feature writes.
 */
export function recogniseT3(process: Recognisable): Recognition | null {
  const invocation = invocationOf(process);
  if (invocation === null || invocation.interpreter === 'other') return null;
  const { args, interpreter, program, stem } = invocation;
  const script = interpreter === 'js' || interpreter === 'bun';
  const launcher = interpreter === 'shell' && (stem === 't3' || stem === 'run-t3.sh');
  const named = launcher || stem === 't3' || (script && (/^t3\.[cm]?js$/u.test(stem) || ENTRY.test(program)));
  if (!named || !executableAgrees(invocation, process.executablePath, 't3')) return null;
  const [first] = positionals(args, GRAMMAR);
  if (first === undefined || args[first] !== 'serve') return null;
  return {
    kind: 't3',
    role: launcher ? 'wrapper' : 'server',
    declaredPort: portOf(optionValue(args, '--port')),
    transport: 'tcp',
    registeredService: false,
    subject: null,
    helper: false,
  };
}
