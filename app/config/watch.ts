import { type FSWatcher, lstatSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { type Loaded, loadConfig } from './load.ts';

export interface WatchTiming {
  /** Quiet time after the last change before the file is read: editors write in several steps. */
  readonly settleMs: number;
  /** Time between two reads where the system cannot tell of changes. */
  readonly pollMs: number;
}

const TIMING: WatchTiming = { settleMs: 100, pollMs: 2000 };

/**
 * Follows the configuration file and calls back whenever what it says has changed, problems included. It may be missing,
 * come and go, and be replaced. Where the folder cannot be watched (it is missing, the system has run out of watches or
 * descriptors, the file is a link to elsewhere), it is read every few seconds instead. Keeps no process alive.
 *
 * @param from what is known already, so that the first callback is a real change
 * @returns ends it
 */
export function watchConfig(
  file: string,
  from: Loaded,
  onChange: (loaded: Loaded) => void,
  timing: WatchTiming = TIMING,
): () => void {
  let watcher: FSWatcher | null = null;
  let settle: NodeJS.Timeout | undefined;
  let known = JSON.stringify(from);

  const read = (): void => {
    const loaded = loadConfig(file);
    const text = JSON.stringify(loaded);
    if (text === known) return;
    known = text;
    onChange(loaded);
  };

  const drop = (): void => {
    watcher?.close();
    watcher = null;
  };

  const arm = (): void => {
    if (watcher !== null) return;
    try {
      watcher = watch(dirname(file), { persistent: false }, (event, name) => {
        clearTimeout(settle);
        settle = setTimeout(read, timing.settleMs).unref();
        // The folder itself was moved or removed: this watch is of what is gone.
        if (event === 'rename' && name === basename(dirname(file))) drop();
      });
      watcher.on('error', drop);
    } catch {
      // No folder, or no watches left (ENOSPC, EMFILE): the timer below reads instead, and tries again.
      watcher = null;
    }
  };

  const isLink = (): boolean => lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

  arm();
  const poll = setInterval(() => {
    if (watcher !== null && !isLink()) return;
    arm();
    read();
  }, timing.pollMs).unref();

  return () => {
    clearInterval(poll);
    clearTimeout(settle);
    drop();
  };
}
