import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Libc } from '../../../util/libc.ts';
import { parseStat } from '../../local/procfs/stat.ts';

/** No chain of jumps and shells is longer. */
const MAX_ANCESTORS = 32;

/**
 * Whether whoever has connected runs as us and was started by that very ssh, which is our child and not collected, so
 * that its number is its own.
 *
 * Linux tells. Without its calls (another system, or a sandbox) the socket's folder, which only we can enter, is what
 * keeps others out; another program of this user could then put a question to the person, and would get what they type.
 */
export function isFromSsh(socket: Socket, ssh: number, libc: Libc | null): boolean {
  if (libc === null) return true;
  const fd = descriptorOf(socket);
  if (fd === null) return false;
  const peer = libc.peerCredentials(fd);
  if (typeof peer === 'string' || peer.uid !== process.getuid?.()) return false;
  return descendsFrom(peer.pid, ssh);
}

/** Node knows the descriptor and does not publish it. */
function descriptorOf(socket: Socket): number | null {
  const { _handle: handle } = socket as unknown as { readonly _handle?: { readonly fd?: number } | null };
  const fd = handle?.fd;
  return typeof fd === 'number' && fd >= 0 ? fd : null;
}

function descendsFrom(pid: number, ancestor: number): boolean {
  for (let at = pid, steps = 0; at > 1 && steps < MAX_ANCESTORS; steps += 1) {
    if (at === ancestor) return true;
    try {
      at = parseStat(readFileSync(`/proc/${at}/stat`))?.ppid ?? 0;
    } catch {
      return false; // gone, so it is not the one that waits for an answer
    }
  }
  return false;
}
