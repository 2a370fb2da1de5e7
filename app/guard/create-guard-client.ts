/** Makes the keeper of this process: a run of its own, and the way a guard is started here. */

import { randomUUID } from 'node:crypto';
import type { Paths } from '../config/paths.ts';
import { messageOf } from '../util/errors.ts';
import { loadLibc } from '../util/libc.ts';
import { guardCommand } from './command.ts';
import { type Budgets, GuardClient } from './guard-client.ts';
import { writeLatestRunId } from './run-file.ts';

export interface GuardClientRequest {
  readonly paths: Paths;
  /** Folder of the bundles. */
  readonly out: string;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly budgets?: Partial<Budgets>;
}

/** Called by the holder of the writer's lock. It starts its guard at `begin`, or when a core opens it. */
export async function createGuardClient(request: GuardClientRequest): Promise<GuardClient> {
  const { paths, out, version, env, budgets } = request;
  const runId = randomUUID();
  // Where it cannot be written, a guard of an earlier run that was held up is kept from acting by its key alone.
  const problem = await writeLatestRunId(paths, runId).then(
    () => null,
    (error: unknown) => messageOf(error),
  );
  if (problem !== null) console.error(`rollcall: ${problem}`);
  const libc = await loadLibc();
  return new GuardClient({
    command: guardCommand(out, env),
    paths,
    runId,
    version,
    // What others left open in us would live on in the guard, and whoever waits for its end would wait for ever.
    beforeSpawn: () => {
      if (libc.loaded) libc.libc.closeAllOnExec();
    },
    ...(budgets === undefined ? {} : { budgets }),
  });
}
