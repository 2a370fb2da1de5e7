/**
 * A server of ours whose record does not show it any more: either it is gone, or its file was torn, changed or deleted
 * under us. In the second case what is known of it is written down again, so that no file can lose a living server.
 */

import { RecordChanged } from '../../records/store.ts';
import type { TrackedServer } from '../lifecycle/server-registry.ts';
import type { JudgedLook } from '../monitor/host-monitor.ts';
import type { CommandContext } from './command-context.ts';

/**
 * @param nonces of servers that the look's records do not verify
 * @returns nonces of those that are proved gone
 */
export async function settleMissing(
  nonces: readonly string[],
  sight: JudgedLook,
  parts: CommandContext,
): Promise<string[]> {
  const gone: string[] = [];
  for (const nonce of nonces) {
    const known = parts.lives.tracked(nonce);
    if (known === null) continue;
    const { verdict } = await parts.host.verify(known.ref);
    if (verdict === 'gone' || verdict === 'zombie' || verdict === 'reused') gone.push(nonce);
    else if (verdict === 'same') await restore(known, sight, parts);
  }
  return gone;
}

async function restore(
  known: TrackedServer,
  sight: JudgedLook,
  { store, audit, lives, self }: CommandContext,
): Promise<void> {
  const { record, path, label, ref, host } = known;
  const found = sight.records.stale.find((entry) => entry.path === path);
  // What belongs to another host stays where it is, and so does what could not be read. That a later Rollcall should
  // have written it is no reason: as long as we hold the writer's lock, nobody else writes of our servers.
  const newer = sight.files.some((file) => file.path === path && file.newer);
  if (found !== undefined && !found.clearable && !newer) return;
  if (lives.state(record.nonce) === 'stopping' || lives.state(record.nonce) === null) return;
  try {
    if (found !== undefined) await store.setAside(path, found.sha256, Date.now());
  } catch (error) {
    // Somebody has just written it anew: the next look judges what it is now.
    if (error instanceof RecordChanged) return;
    throw error;
  }
  await store.write(record);
  const what = found === undefined ? 'was gone' : `${found.detail} and was moved aside`;
  audit.note({
    event: 'record-restored',
    by: self,
    host,
    pid: ref.identity.pid,
    identity: ref.identity,
    subject: label,
    text: `The record of ${label}, PID ${ref.identity.pid}, ${what}; it was written anew, since the server runs`,
  });
}
