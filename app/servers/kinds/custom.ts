import { isAbsolute } from 'node:path';
import { askHealth } from '../client/health.ts';
import { loopbackUrl } from '../client/http.ts';
import type { CustomKind, Kind, Recognisable, Recognition } from '../kind.ts';
import {
  executableAgrees,
  executableOnDisk,
  fileName,
  type Invocation,
  invocationOf,
  optionValue,
  portOf,
  stemOf,
} from '../recognition/argv.ts';
import { locator, NO_OPTIONS } from '../start/locate.ts';

/** A file name also stands for itself with `.exe`, as programs are called on Windows. */
function isProgram(path: string, program: string): boolean {
  if (isAbsolute(program)) return path === program;
  const name = fileName(path);
  return name === program || name === `${program}.exe`;
}

/** Recognises a kind that a person defined: its program, then its arguments in exactly these positions. */
export function recogniseCustom(
  custom: CustomKind,
  process: Recognisable,
  invocation: Invocation | null = invocationOf(process),
): Recognition | null {
  if (invocation === null) return null;
  const executable = process.executablePath === null ? null : executableOnDisk(process.executablePath);
  const byExecutable = invocation.interpreter === null && executable !== null && isProgram(executable, custom.program);
  if (!byExecutable) {
    if (!isProgram(invocation.program, custom.program)) return null;
    // Any program can title itself with the name of this one.
    if (invocation.rewritten || !executableAgrees(invocation, process.executablePath, stemOf(custom.program)))
      return null;
  }
  if (custom.args.some((arg, index) => invocation.args[index] !== arg)) return null;
  return {
    kind: custom.name,
    role: 'server',
    declaredPort: portOf(optionValue(invocation.args, '--port')),
    transport: 'tcp',
    registeredService: false,
    subject: null,
    helper: false,
  };
}

/** A kind that a person defined. It is ended by TERM, then KILL; what the definition leaves out is not guessed. */
export function customKind(custom: CustomKind): Kind {
  const { name, health, start } = custom;
  return {
    name,
    recognise: (process) => recogniseCustom(custom, process),
    mark: null,
    watch: null,
    sessionsWhy: `nothing is known of how ${name} tells of its sessions`,
    sessionActs: null,
    protection: null,
    ending: [
      { step: 'signal', signal: 'SIGTERM', waitMs: 5000 },
      { step: 'signal', signal: 'SIGKILL', waitMs: 2000 },
    ],
    health: (endpoint, deadlineMs) =>
      health === undefined
        ? Promise.resolve({ state: 'unknown', why: `no health check is configured for ${name}` })
        : askHealth(endpoint, health.path, deadlineMs, (body) =>
            body.includes(health.contains)
              ? { state: 'ok', version: null }
              : `its answer to ${health.path} does not contain what the configuration says`,
          ),
    pageUrl: health === undefined ? () => null : loopbackUrl,
    locate:
      start === undefined
        ? null
        : locator(
            {
              kind: name,
              program: start[0],
              remedy: `Install it, or correct the start command of ${name} in config.json.`,
            },
            NO_OPTIONS,
          ),
    startPlan:
      start === undefined
        ? null
        : (program, directory, port) => {
            const fill = (text: string): string =>
              text.replace(/\{(port|directory)\}/gu, (_, key) => (key === 'port' ? String(port ?? 0) : directory));
            return { argv: [program, ...start.slice(1).map(fill)], env: {}, port };
          },
  };
}
