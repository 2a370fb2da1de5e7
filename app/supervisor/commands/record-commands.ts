/** Acts on records. None of them signals anything. */

import type { ServerRecord } from '../../records/schema.ts';
import { RecordChanged } from '../../records/store.ts';
import type { CommandResult } from '../../roll/commands.ts';
import type { RecordEntry, Server } from '../../roll/schema.ts';
import { rowName } from '../../text/words.ts';
import { ActFailed, done } from '../failure.ts';
import { type CommandContext, serverById } from './command-context.ts';

function changed(path: string): ActFailed {
  const message = `${path} has changed since it was judged; it was left where it is.`;
  return new ActFailed('changed', message, 'Look at it again.');
}

/** @throws RecordChanged when it is not the one that was judged any more */
export async function moveAside(
  entry: RecordEntry,
  by: string,
  { store, audit }: Pick<CommandContext, 'store' | 'audit'>,
): Promise<void> {
  const path = await store.setAside(entry.path, entry.sha256, Date.now());
  audit.note({
    event: 'set-aside',
    by,
    pid: entry.pid,
    verdict: entry.verdict === 'corrupt' ? null : entry.verdict,
    subject: 'record',
    text: `${entry.path} ${entry.detail}; it was moved aside to ${path}. Nothing was signalled.`,
  });
}

/** Moves a stale record aside, if it is byte for byte the one that the person saw judged. */
export async function clearRecord(
  path: string,
  sha256: string,
  by: string,
  parts: CommandContext,
): Promise<CommandResult> {
  const entry = (await parts.freshLook()).records.stale.find((candidate) => candidate.path === path);
  if (entry === undefined) {
    throw new ActFailed(
      'not-stale',
      `${path} is no stale record.`,
      'The list of records shows what can be moved aside.',
    );
  }
  if (!entry.clearable) throw new ActFailed('kept', entry.keptBecause ?? 'This record is kept.', '');
  if (entry.sha256 !== sha256) throw changed(path);
  try {
    await moveAside(entry, by, parts);
  } catch (error) {
    if (error instanceof RecordChanged) throw changed(path);
    throw error;
  }
  await parts.freshLook();
  return done('The record was moved aside. Nothing was signalled.');
}

/** Writes down whether a server stays when Rollcall quits. */
export async function setKeepRunning(id: string, keepRunning: boolean, parts: CommandContext): Promise<CommandResult> {
  const row = await rewrite(id, { keepRunning }, parts);
  return done(`${rowName(row)} ${keepRunning ? 'stays' : 'stops'} when Rollcall quits.`);
}

/** Writes down after how many minutes without a busy session or a client a server is stopped; null: never. */
export async function setIdle(id: string, minutes: number | null, parts: CommandContext): Promise<CommandResult> {
  const row = await rewrite(id, { idleMinutes: minutes }, parts);
  const when = minutes === null ? 'is not stopped for being idle' : `stops when it has been idle for ${minutes} min`;
  return done(`${rowName(row)} ${when}.`);
}

async function rewrite(
  id: string,
  change: Partial<Pick<ServerRecord, 'keepRunning' | 'idleMinutes'>>,
  parts: CommandContext,
): Promise<Server> {
  const { row, record } = serverById(await parts.freshLook(), id, undefined);
  // Read anew: what a stop has just removed must not come back by this.
  const current = record === null ? null : ((await parts.store.read(record.path))?.record ?? null);
  if (current === null) {
    throw new ActFailed(
      'not-ours',
      `${rowName(row)} has no record of Rollcall's.`,
      'Only its own tool decides how long it runs.',
    );
  }
  await parts.store.write({ ...current, ...change });
  await parts.freshLook();
  return row;
}
