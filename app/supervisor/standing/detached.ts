/** Which processes somebody meant to outlive whoever started them. Pure. */
import type { ProcessInfo } from '../../hosts/host.ts';
import { programName } from './owner-label.ts';

/** Started through nohup: the shell names the command it started in this variable, and node resets the signal. */
function throughNohup(info: ProcessInfo): boolean {
  return programName(info.marks?._ ?? '') === 'nohup';
}

/** Somebody meant it to stay. What it merely inherited from the root it descends from does not count. */
export function isDetached(info: ProcessInfo, root: ProcessInfo | null): boolean {
  if (info.ignoresHangup === true && root?.ignoresHangup !== true) return true;
  return throughNohup(info) && !(root !== null && throughNohup(root));
}
