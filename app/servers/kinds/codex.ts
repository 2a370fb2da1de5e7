import { askHealth } from '../client/health.ts';
import type { Endpoint, Health, Kind, Recognisable, Recognition } from '../kind.ts';
import {
  executableAgrees,
  hasFlag,
  type Invocation,
  invocationOf,
  optionValue,
  portOf,
  positionals,
} from '../recognition/argv.ts';
import { installRemedy, locator, type StartOptions, startArgv } from '../start/locate.ts';

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
export function recogniseCodex(
  process: Recognisable,
  invocation: Invocation | null = invocationOf(process),
): Recognition | null {
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

async function codexHealth(endpoint: Endpoint, deadlineMs: number): Promise<Health> {
  const until = performance.now() + deadlineMs;
  for (const path of ['/healthz', '/readyz']) {
    const judge = (body: string) =>
      body === '' ? ({ state: 'ok', version: null } as const) : `its answer to ${path} is not codex’s`;
    const health = await askHealth(endpoint, path, Math.max(1, until - performance.now()), judge);
    if (health.state !== 'ok') return health;
  }
  return { state: 'ok', version: null };
}

/** `codex app-server`. Health exists on its WebSocket listener only; it marks nothing and has no passive event stream. */
export function codexKind(options: StartOptions): Kind {
  return {
    name: 'codex',
    recognise: (process) => recogniseCodex(process),
    mark: null,
    watch: null,
    sessionsWhy: 'codex tells of its threads only to a client of its own',
    sessionActs: null,
    protection: null,
    ending: [
      { step: 'signal', signal: 'SIGTERM', waitMs: 5000 },
      { step: 'signal', signal: 'SIGKILL', waitMs: 2000 },
    ],
    health: codexHealth,
    pageUrl: () => null,
    locate: locator(
      {
        kind: 'codex',
        program: 'codex',
        remedy: installRemedy('codex', 'Install it with “npm install -g @openai/codex”', options),
      },
      options,
    ),
    startPlan: (program, _directory, port) => ({
      argv: startArgv('codex', program, ['app-server', '--listen', `ws://127.0.0.1:${port ?? 0}`], options),
      env: { ...options.programs['codex']?.env },
      port,
    }),
  };
}
