import { executableAgrees, hasFlag, invocationOf, optionValue, portOf, positionals } from './argv.ts';
import type { Recognisable, Recognition } from './kind.ts';

const GRAMMAR = {
  flags: new Set([
    '--oss',
    '--search',
    '--full-auto',
    '--yolo',
    '--dangerously-bypass-approvals-and-sandbox',
    '--no-alt-screen',
    '--skip-git-repo-check',
    '--strict-config',
    '--analytics-default-enabled',
    '--managed-daemon',
    '--stdio',
    '--experimental',
    '--remote-control',
    '--help',
    '-h',
    '--version',
    '-V',
  ]),
};

function transportOf(listen: string | null): { transport: Recognition['transport']; port: number | null } {
  if (listen === null || listen.startsWith('stdio')) return { transport: 'stdio', port: null };
  if (listen.startsWith('unix:') || listen === 'off') return { transport: 'socket', port: null };
  return { transport: 'tcp', port: portOf(/^wss?:\/\/(?:\[[^\]]*\]|[^/:]*):(\d+)/u.exec(listen)?.[1] ?? null) };
}

/**
 * Recognises `codex app-server` that serves. Its own subcommands (`proxy`, `daemon …`, `generate-ts`) do not: a
 * further positional argument means one of them.
 */
export function recogniseCodex(process: Recognisable): Recognition | null {
  const invocation = invocationOf(process);
  if (invocation === null || invocation.interpreter === 'other') return null;
  const { args, interpreter, stem } = invocation;
  const named = stem === 'codex' || (interpreter === null ? stem.startsWith('codex-') : /^codex\.[cm]?js$/u.test(stem));
  if (!named || !executableAgrees(invocation, process.executablePath, 'codex')) return null;
  const [first, second] = positionals(args, GRAMMAR);
  if (first === undefined || args[first] !== 'app-server' || second !== undefined) return null;
  const own = args.slice(first + 1);
  const { transport, port } = transportOf(optionValue(own, '--listen'));
  return {
    kind: 'codex',
    role: interpreter === null ? 'server' : 'wrapper',
    declaredPort: port,
    transport,
    registeredService: hasFlag(own, '--managed-daemon'),
    subject: null,
    helper: false,
  };
}
