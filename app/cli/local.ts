import type { Paths } from '../config/paths.ts';
import type { WriterLock } from '../control/writer-lock.ts';
import type { LocalCore } from '../supervisor/core.ts';
import { openLocalCore } from '../supervisor/local-core.ts';

/** Opens a supervisor in this process. @param hears it is about sessions: every server is followed */
export function openForCli(
  paths: Paths,
  mode: 'read' | 'act',
  lock: WriterLock | null,
  hears: boolean,
): Promise<LocalCore> {
  return openLocalCore({ paths, mode, lock, hears });
}
