/** Ending what a start has brought into being, when it does not become ready. */

import { AuditUnwritable } from '../../audit/audit.ts';
import { type Look, LookFailed, type Spawned } from '../../hosts/host.ts';
import type { ServerRecord } from '../../records/schema.ts';
import type { Kind } from '../../servers/kind.ts';
import { survivorsOf } from '../terminate/survivors.ts';
import { type TerminationResult, terminateTree } from '../terminate/terminate.ts';
import type { StartDeps } from './start-order.ts';

/** What a start that failed may take to be ended, in milliseconds. */
const ABANDON_MS = 6000;
/** Looks that may still find something that was started. */
const SWEEPS = 4;
const LOOK_ATTEMPTS = 4;
const LOOK_AGAIN_MS = 500;

/** A look may fail on a struggling machine, and without one what was started could not be ended. */
async function lookPatiently(deps: StartDeps, spawned: Spawned): Promise<Look> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await deps.look([spawned.ref.identity.pid]);
    } catch (error) {
      if (!(error instanceof LookFailed) || attempt === LOOK_ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
    }
  }
}

/**
 * What was started could not be ended: no intent may be left unwritten (rule 4.16), and what cannot be seen cannot be
 * proved. The record stays, so that the next look that succeeds, or the next writer, finds the server.
 */
function stillRuns(spawned: Spawned, problem: unknown): TerminationResult {
  if (!(problem instanceof AuditUnwritable || problem instanceof LookFailed)) throw problem;
  const message = `PID ${spawned.ref.identity.pid} may still run and was not signalled: ${problem.message}`;
  return { outcome: 'survived', verdict: 'unknown', signals: [], message, freedBytes: 0 };
}

/**
 * Ends whatever the start has brought into being, and looks again until there is nothing more: a wrapper may have started
 * the server in the very moment in which it was ended, too late for the look before. Null when nothing was there.
 */
export async function endStart(
  deps: StartDeps,
  spawned: Spawned,
  record: ServerRecord,
  subject: string,
  kind: Kind,
): Promise<TerminationResult | null> {
  const { identity } = spawned.ref;
  let ended: TerminationResult | null = null;
  try {
    for (let round = 0; round < SWEEPS; round += 1) {
      const look = await lookPatiently(deps, spawned);
      const roots = survivorsOf({ look, nonce: record.nonce, server: identity, processes: [identity], uid: deps.uid });
      if (roots.length === 0) return ended;
      ended = await terminateTree(
        { label: subject, roots, kind, endpoint: null, ports: [] },
        {
          host: deps.host,
          look: deps.look,
          audit: deps.audit,
          by: deps.by,
          uid: deps.uid,
          // Giving up at a quit is exactly when this has to go through.
          abort: null,
          budgetMs: ABANDON_MS,
          comeBackMs: 0,
          progress: deps.progress,
        },
      );
      if (ended.outcome === 'survived') return ended;
    }
    return ended;
  } catch (problem) {
    return stillRuns(spawned, problem);
  }
}
