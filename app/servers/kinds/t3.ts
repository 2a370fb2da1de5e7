import { askHealth, jsonObject, versionText } from '../client/health.ts';
import { loopbackUrl } from '../client/http.ts';
import type { Kind, Recognisable, Recognition } from '../kind.ts';
import {
  executableAgrees,
  type Invocation,
  invocationOf,
  optionValue,
  portOf,
  positionals,
} from '../recognition/argv.ts';
import { installRemedy, locator, type StartOptions, startArgv } from '../start/locate.ts';

const GRAMMAR = { flags: new Set(['--no-browser', '--help', '-h', '--version', '-v', '--verbose']) };

/** Script names of the tool itself: its bin link, and the entry file of its package `t3`. */
const ENTRY = /(?:^|\/)t3\/(?:dist|bin)\/[\w-]+\.[cm]?js$/u;

/**
 * Recognises `t3 serve`, native or run by node or bun. The word alone proves nothing (an unrelated time tracker has the
 * same name), so `serve` must be its first argument. `run-t3.sh` is the launcher that its SSH feature writes.
 */
export function recogniseT3(
  process: Recognisable,
  invocation: Invocation | null = invocationOf(process),
): Recognition | null {
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

/** T3 Code's server. It marks no children and has no open event stream; its environment page is its health check. */
export function t3Kind(options: StartOptions): Kind {
  return {
    name: 't3',
    recognise: (process) => recogniseT3(process),
    mark: null,
    watch: null,
    sessionsWhy: 't3 tells of its sessions only to a client that has been paired with it',
    sessionActs: null,
    protection: null,
    ending: [
      { step: 'signal', signal: 'SIGTERM', waitMs: 5000 },
      { step: 'signal', signal: 'SIGKILL', waitMs: 2000 },
    ],
    health: (endpoint, deadlineMs) =>
      askHealth(endpoint, '/.well-known/t3/environment', deadlineMs, (body) => {
        const answer = jsonObject(body);
        const { environmentId, serverVersion } = {
          environmentId: answer?.['environmentId'],
          serverVersion: answer?.['serverVersion'],
        };
        if (typeof environmentId !== 'string' && typeof serverVersion !== 'string') {
          return 'its answer to /.well-known/t3/environment is not t3’s';
        }
        return { state: 'ok', version: versionText(serverVersion) };
      }),
    pageUrl: loopbackUrl,
    locate: locator({ kind: 't3', program: 't3', remedy: installRemedy('t3', 'Install T3 Code', options) }, options),
    startPlan: (program, _directory, port) => ({
      argv: startArgv(
        't3',
        program,
        ['serve', '--host', '127.0.0.1', ...(port === null ? [] : ['--port', String(port)])],
        options,
      ),
      // It would open a browser window at every start.
      env: { T3CODE_NO_BROWSER: '1', ...options.programs['t3']?.env },
      port,
    }),
  };
}
