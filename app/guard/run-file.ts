/** Which life of the app is the latest. A guard of an earlier one that was held up must not act any more. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Paths } from '../config/paths.ts';
import { atomicWrite } from '../util/atomic-write.ts';

const fileOf = (paths: Pick<Paths, 'onceDir'>): string => join(paths.onceDir, 'latest-run');

/** Called by whoever holds the writer's lock. @throws WriteFailed */
export async function writeLatestRunId(paths: Pick<Paths, 'onceDir'>, runId: string): Promise<void> {
  mkdirSync(paths.onceDir, { recursive: true, mode: 0o700 });
  await atomicWrite(fileOf(paths), `${runId}\n`);
}

/** Null when nothing says so. */
export function latestRun(paths: Pick<Paths, 'onceDir'>): string | null {
  try {
    return readFileSync(fileOf(paths), 'utf8').slice(0, 100).trim() || null;
  } catch {
    // Absent or unreadable: then the key of the run alone keeps it from being acted on twice.
    return null;
  }
}
