import { executableAgrees, hasFlag, invocationOf, optionValue, portOf, positionals } from './argv.ts';
import type { Recognisable, Recognition } from './kind.ts';

/** opencode and the forks that kept its command line, its endpoints and its mark under their own names. */
export const FORKS = [
  { name: 'opencode', mark: 'OPENCODE_PID' },
  { name: 'kilo', mark: 'KILO_PID' },
] as const;

const GRAMMAR = {
  flags: new Set([
    '--print-logs',
    '--pure',
    '--mdns',
    '--service',
    '--continue',
    '-c',
    '--fork',
    '--help',
    '-h',
    '--version',
    '-v',
    '--auto',
    '--mini',
  ]),
};

/**
 * Subcommands that serve. `web` is `serve` that also opens a browser. `acp` listens too, but it belongs to the editor
 * at its standard streams and exits with it: a helper, listed so that its port has a name.
 */
const SERVING: ReadonlySet<string> = new Set(['serve', 'web', 'acp']);

/** Recognises one fork. A node or shell script is a shim around the native server; under bun it is the server. */
export function recogniseFork(name: string, process: Recognisable): Recognition | null {
  const invocation = invocationOf(process);
  if (invocation === null || invocation.interpreter === 'other') return null;
  if (invocation.stem !== name || !executableAgrees(invocation, process.executablePath, name)) return null;
  const { args, interpreter } = invocation;
  const [first] = positionals(args, GRAMMAR);
  const subcommand = first === undefined ? undefined : args[first];
  if (subcommand === undefined || !SERVING.has(subcommand)) return null;
  const helper = subcommand === 'acp';
  return {
    kind: name,
    role: interpreter === 'js' || interpreter === 'shell' ? 'wrapper' : 'server',
    declaredPort: portOf(optionValue(args, '--port')),
    transport: helper ? 'stdio' : 'tcp',
    registeredService: hasFlag(args, '--service'),
    subject: null,
    helper,
  };
}
