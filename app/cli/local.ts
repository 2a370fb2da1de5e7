import type { Paths } from '../config/paths.ts';
import { openLocalCore } from '../core/local-core.ts';
import type { LocalCore } from '../supervisor/core.ts';
import type { WriterLock } from '../writer/writer-lock.ts';

/** Opens a supervisor in this process. @param hears it is about sessions: every server is followed */
export function openForCli(
  paths: Paths,
  mode: 'read' | 'act',
  lock: WriterLock | null,
  hears: boolean,
): Promise<LocalCore> {
  return openLocalCore({ paths, mode, lock, hears });
}
