/** What people call a process that owns a server. Pure. */
import type { ProcessInfo } from '../../hosts/host.ts';
import { interpreterOf } from '../../servers/recognition/argv.ts';
import { recognisable } from '../../servers/recognition/group.ts';
import { programLabel } from '../../servers/recognition/labels.ts';
import { isPlainWrapper } from '../../servers/recognition/wrappers.ts';

/** Last part of a path, without the dash of a login shell. */
export function programName(text: string): string {
  const base = text.split(/[/\\]/u).at(-1) ?? text;
  return base.startsWith('-') ? base.slice(1) : base;
}

/** `node launcher.js` for an interpreter with a script, the product's name where we know it, "a shell" for shells. */
export function ownerLabel(info: ProcessInfo): string {
  if (info.comm.startsWith('sshd')) return 'an SSH session';
  const process = recognisable(info);
  const shell = interpreterOf(programName(info.argv[0] ?? info.comm)) === 'shell';
  if (isPlainWrapper(process)) return shell ? 'a shell' : 'npx';
  const label = programLabel(process);
  return shell && !label.includes(' ') ? 'a shell' : label;
}

/** The short name of a process for rows and sentences. */
export function nameOf(info: ProcessInfo): string {
  return programName(info.argv[0] ?? info.comm) || info.comm;
}
