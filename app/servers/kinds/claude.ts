import type { Kind, Recognisable, Recognition } from '../kind.ts';
import {
  executableAgrees,
  executableOnDisk,
  fileName,
  hasFlag,
  type Invocation,
  invocationOf,
  optionValue,
  positionals,
} from '../recognition/argv.ts';

const GRAMMAR = {
  flags: new Set([
    '--verbose',
    '--debug',
    '-d',
    '--print',
    '-p',
    '--continue',
    '-c',
    '--ide',
    '--serve',
    '--fork-session',
    '--help',
    '-h',
    '--version',
    '-v',
    '--dangerously-skip-permissions',
    '--allow-dangerously-skip-permissions',
    '--strict-mcp-config',
    '--include-partial-messages',
    '--replay-user-messages',
  ]),
};

/** The native installer names the executable by version alone: `…/claude/versions/2.1.197`, `…/ccd-cli/2.1.197`. */
const VERSIONED = /\/(?:claude\/versions|claude-code|ccd-cli)\/[^/]+$/u;
/** The script of the npm package, which node runs. */
const PACKAGE_ENTRY = /\/@anthropic-ai\/claude-code\/cli\.[cm]?js$/u;
/** Folder of the daemons that a desktop app leaves on a remote host; `server` alone names nothing. */
const REMOTE_SERVER = /\/\.claude\/remote\/(?:[^/]+\/)*server$/u;

type Program = 'claude' | 'ccd-cli' | 'remote-server';

function programOf(invocation: Invocation, executablePath: string | null): Program | null {
  const { interpreter, program, stem } = invocation;
  if (interpreter === 'other' || interpreter === 'shell') return null;
  if (interpreter !== null) {
    return stem === 'claude' || PACKAGE_ENTRY.test(program) ? 'claude' : null;
  }
  if (stem === 'claude') return executableAgrees(invocation, executablePath, 'claude', VERSIONED) ? 'claude' : null;
  if (stem === 'ccd-cli' || /\/ccd-cli\/[^/]+$/u.test(program)) {
    if (fileName(program) !== stem && !executableAgrees(invocation, executablePath, 'ccd-cli', VERSIONED)) return null;
    return executablePath === null || executableAgrees(invocation, executablePath, 'ccd-cli', VERSIONED)
      ? 'ccd-cli'
      : null;
  }
  const path = executablePath === null ? program : executableOnDisk(executablePath);
  return stem === 'server' && REMOTE_SERVER.test(path) ? 'remote-server' : null;
}

/**
 * Recognises Claude's helpers: `claude mcp serve` (kind `claude-mcp`), daemons started with `--serve` (`claude-serve`)
 * and the processes that carry one session for another program (`claude`; `subject` is the session's id).
 *
 * A person's own `claude --resume ID` in a terminal is a TUI. Programs write `--resume=ID`, or speak stream-json.
 */
export function recogniseClaude(
  process: Recognisable,
  invocation: Invocation | null = invocationOf(process),
): Recognition | null {
  if (invocation === null) return null;
  const program = programOf(invocation, process.executablePath);
  if (program === null) return null;
  const { args } = invocation;
  const base = { role: 'server', declaredPort: null, registeredService: false } as const;
  const [first, second] = positionals(args, GRAMMAR);
  if (program === 'claude' && first !== undefined && args[first] === 'mcp') {
    if (second === undefined || args[second] !== 'serve') return null;
    return { ...base, kind: 'claude-mcp', transport: 'stdio', subject: null, helper: true };
  }
  if (hasFlag(args, '--serve')) {
    return { ...base, kind: 'claude-serve', transport: 'socket', subject: null, helper: false };
  }
  if (program === 'remote-server') return null;
  const session = optionValue(args, '--resume');
  if (session === null || session === '' || session.startsWith('-')) return null;
  const machine =
    program === 'ccd-cli' ||
    args.some((arg) => arg.startsWith('--resume=')) ||
    optionValue(args, '--input-format') === 'stream-json';
  return machine ? { ...base, kind: 'claude', transport: 'stdio', subject: session, helper: true } : null;
}

/** Names of the kinds that this file recognises. */
export const CLAUDE_KINDS = ['claude', 'claude-mcp', 'claude-serve'] as const;

/** What they carry is listed from the files that claude keeps of its sessions, where there are any. */
const SESSIONS_WHY: Readonly<Record<(typeof CLAUDE_KINDS)[number], string>> = {
  claude: 'claude tells of its session only to the program that started it',
  'claude-mcp': 'an MCP helper carries no sessions of its own',
  'claude-serve': 'claude’s daemon tells of its sessions only to its own clients',
};

/** Helpers have no port to ask at and are started by the programs they serve: they are seen and ended, no more. */
export function claudeKind(name: (typeof CLAUDE_KINDS)[number]): Kind {
  return {
    name,
    recognise: (process) => {
      const found = recogniseClaude(process);
      return found?.kind === name ? found : null;
    },
    mark: null,
    watch: null,
    sessionsWhy: SESSIONS_WHY[name],
    sessionActs: null,
    protection: null,
    // Some spin at full load and ignore SIGTERM, so the wait is short.
    ending: [
      { step: 'signal', signal: 'SIGTERM', waitMs: 3000 },
      { step: 'signal', signal: 'SIGKILL', waitMs: 2000 },
    ],
    health: () => Promise.resolve({ state: 'unknown', why: `${name} offers no health check` }),
    pageUrl: () => null,
    locate: null,
    startPlan: null,
  };
}
