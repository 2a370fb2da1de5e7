import { join } from 'node:path';
import { ensureRuntimeFolder } from '../../../util/folders.ts';
import type { Semaphore } from '../../../util/semaphore.ts';
import type { SshStep } from '../../ssh-failed.ts';
import { type JumpConfig, withoutForeignMasters } from './jump.ts';
import { Master } from './master.ts';
import type { MasterOptions } from './master-options.ts';

/** What belongs to one attempt, not to all. */
type OfOneAttempt = 'onProgress' | 'onQuestion' | 'onProcess' | 'signal';

export interface AttemptOptions {
  readonly master: Omit<MasterOptions, OfOneAttempt | 'socketPath'>;
  /** Ours alone; sockets go there. */
  readonly folder: string;
  /** Begins the names of this link's files. */
  readonly prefix: string;
  /** Shared with the other links: how many connect at once. */
  readonly turns: Semaphore;
}

/** A machine that has not answered by then is unreachable rather than busy; the others need not wait for it. */
const SILENT_MS = 2000;

let count = 0;

/**
 * Starts a master when it is its turn.
 *
 * @returns null when the signal fired before
 * @throws SshFailed, or the system's error when nothing could be started
 */
export async function startMaster(options: AttemptOptions & Pick<MasterOptions, OfOneAttempt>): Promise<Master | null> {
  const { master, folder, prefix, turns, signal, onProgress, onQuestion, onProcess } = options;
  const endTurn = await turns.take(signal);
  if (endTurn === null) return null;
  count += 1;
  const socketPath = join(folder, `${prefix}m${count}`);
  let jump: JumpConfig | null = null;
  let step: SshStep = 'name';
  const silent = setTimeout(() => {
    if (step === 'name' || step === 'port') endTurn();
  }, SILENT_MS);
  try {
    // The end of a login session takes the runtime folder away.
    ensureRuntimeFolder(folder);
    jump = withoutForeignMasters(master.resolved, master.ssh, master.questioner !== null, `${socketPath}.config`);
    return await Master.start({
      ...master,
      ssh: jump.ssh,
      socketPath,
      signal,
      onProcess,
      onProgress: (progress) => {
        step = progress.step;
        onProgress(progress);
      },
      onQuestion: (question) => {
        // A person takes their time, and nobody else has to wait for it.
        if (question !== null) endTurn();
        onQuestion(question);
      },
    });
  } finally {
    clearTimeout(silent);
    endTurn();
    // Read by now, or never.
    jump?.remove();
  }
}
