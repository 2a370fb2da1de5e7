import { askHealth, jsonObject, versionText } from '../client/health.ts';
import { loopbackUrl } from '../client/http.ts';
import type { Kind, Recognisable, Recognition } from '../kind.ts';
import {
  executableAgrees,
  hasFlag,
  type Invocation,
  invocationOf,
  optionValue,
  portOf,
  positionals,
} from '../recognition/argv.ts';
import { watchServer } from '../session-feed/server-watch.ts';
import { opencodeActs } from '../session-feed/session-acts.ts';
import { installRemedy, locator, type StartOptions, startArgv } from '../start/locate.ts';

/** opencode and the forks that kept its command line, its endpoints and its mark under their own names. */
export const FORKS = [
  {
    name: 'opencode',
    mark: 'OPENCODE_PID',
    install: 'npm install -g opencode-ai',
    env: { OPENCODE_DISABLE_AUTOUPDATE: '1' },
    protection: {
      password: 'OPENCODE_SERVER_PASSWORD',
      username: 'OPENCODE_SERVER_USERNAME',
      defaultUsername: 'opencode',
    },
    // Older ones load the folder that they were started in for this question (1.2, 1.14), or leave out the folders (1.15).
    listsPassively: (version: string | null) =>
      isAtLeast(version, 1, 18) ? true : 'a version before 1.18 may load folders when it lists its sessions',
  },
  {
    name: 'kilo',
    mark: 'KILO_PID',
    install: 'npm install -g @kilocode/cli',
    env: {},
    // Whose name it wants where none is set was not seen.
    protection: null,
    listsPassively: (version: string | null) =>
      isAtLeast(version, 7, 7) ? true : 'a version before 7.7 may load folders when it lists its sessions',
  },
] as const;

function isAtLeast(version: string | null, major: number, minor: number): boolean {
  const [, a, b] = /^(\d+)\.(\d+)\./u.exec(version ?? '') ?? [];
  return Number(a) > major || (Number(a) === major && Number(b) >= minor);
}

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
export function recogniseFork(
  name: string,
  process: Recognisable,
  invocation: Invocation | null = invocationOf(process),
): Recognition | null {
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

/**
 * Everything about one fork.
 *
 * Ending: it dies of SIGTERM by default action and orphans its tool shells and MCP servers, so it is asked to dispose
 * of them first; a first SIGTERM can be swallowed while it installs its plug-ins, so there is a second.
 *
 * Starting: bound to 127.0.0.1. No password is set unless the person's environment has one (OPENCODE_SERVER_PASSWORD is
 * passed on as it is): the one we set would have to be stored beside the record to adopt the server again. A server
 * without one can be used by every local user, exactly as when the person starts it. It is kept from updating itself,
 * since a replaced executable makes the recorded evidence useless where the kernel has no pidfs.
 */
export function forkKind(fork: (typeof FORKS)[number], options: StartOptions): Kind {
  const { name } = fork;
  return {
    name,
    recognise: (process) => recogniseFork(name, process),
    mark: fork.mark,
    watch: (endpoint, onChange) => watchServer(endpoint, onChange, fork.listsPassively),
    sessionsWhy: null,
    sessionActs: opencodeActs(name),
    protection: fork.protection,
    ending: [
      { step: 'dispose', method: 'POST', path: '/global/dispose', deadlineMs: 5000 },
      { step: 'signal', signal: 'SIGTERM', waitMs: 3000 },
      { step: 'signal', signal: 'SIGTERM', waitMs: 3000 },
      { step: 'signal', signal: 'SIGKILL', waitMs: 2000 },
    ],
    health: (endpoint, deadlineMs) =>
      askHealth(endpoint, '/global/health', deadlineMs, (body) => {
        const answer = jsonObject(body);
        if (answer?.['healthy'] === false) return 'it says that it is not healthy';
        if (answer?.['healthy'] !== true || typeof answer['version'] !== 'string') {
          return `its answer to /global/health is not ${name}’s`;
        }
        return { state: 'ok', version: versionText(answer['version']) };
      }),
    pageUrl: loopbackUrl,
    locate: locator(
      { kind: name, program: name, remedy: installRemedy(name, `Install it with “${fork.install}”`, options) },
      options,
    ),
    startPlan: (program, _directory, port) => ({
      argv: startArgv(name, program, ['serve', '--hostname', '127.0.0.1', '--port', String(port ?? 0)], options),
      env: { ...fork.env, ...options.programs[name]?.env },
      port,
    }),
  };
}
