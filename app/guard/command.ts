/** How a guard is started: the same program as ours in its plain Node mode, so nothing has to be installed for it. */
import { join } from 'node:path';

export interface GuardCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Marks by which processes are told apart: a guard that inherited them would count as somebody's child or leftover.
 * Options for Node or Electron were meant for us.
 */
const DROPPED =
  /^(?:OPENCODE|OPENCODE_PID|KILO_PID|ROLLCALL_NONCE|ROLLCALL_KIND|NODE_OPTIONS|NODE_CHANNEL_FD|ELECTRON_.*)$/u;

/** Young objects are few here; without the bound the heap would grow past what a guard may cost. */
const V8_OPTIONS = ['--max-semi-space-size=1'];

/**
 * @param out folder of the bundles
 * @param runtime the process that starts it; our own when left out
 */
export function guardCommand(
  out: string,
  env: Readonly<Record<string, string | undefined>>,
  runtime: { readonly execPath: string; readonly versions: { readonly electron?: string | undefined } } = process,
): GuardCommand {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && !DROPPED.test(name)) kept[name] = value;
  }
  if (runtime.versions.electron !== undefined) kept['ELECTRON_RUN_AS_NODE'] = '1';
  // Not out of the archive: an upgrade would replace it under a guard that has read only its table of contents.
  const folder = out.replace(/([\\/])app\.asar(?=[\\/])/u, '$1app.asar.unpacked');
  return { program: runtime.execPath, args: [...V8_OPTIONS, join(folder, 'guard.js')], env: kept };
}
