/** The connections that an app which is gone has left behind: its ssh processes, ended by identity. */

import { AuditFile, AuditUnwritable } from '../audit/audit.ts';
import type { Paths } from '../config/paths.ts';
import { bundledLooker } from '../core/local-core.ts';
import type { Host } from '../hosts/host.ts';
import { createLocalHost } from '../hosts/local/local-host.ts';
import type { ProcessRef } from '../identity/identity.ts';
import { messageOf } from '../util/errors.ts';
import { say } from './log.ts';

/** ssh ends at once when it is asked to; one that is stopped does not. Milliseconds. */
const TERM_MS = 2000;
const KILL_MS = 2000;

/** Ends each that still is the recorded process. What cannot be ended is told in the log; the guard's other work goes on. */
export async function endSsh(processes: readonly ProcessRef[], paths: Paths): Promise<void> {
  if (processes.length === 0) return;
  try {
    const host = await createLocalHost({ looker: bundledLooker(), stateDir: paths.stateDir });
    try {
      const audit = new AuditFile(paths.auditFile);
      await Promise.all(processes.map((ref) => endOne(ref, host, audit)));
    } finally {
      await host.close();
    }
  } catch (error) {
    say('ssh', `the connections of the app could not be ended: ${messageOf(error)}`);
  }
}

async function endOne(ref: ProcessRef, host: Host, audit: AuditFile): Promise<void> {
  const held = await host.hold(ref);
  const { identity } = ref;
  const who = `ssh, PID ${identity.pid}, a connection of the app that is gone`;
  try {
    for (const [signal, waitMs] of [
      ['SIGTERM', TERM_MS],
      ['SIGKILL', KILL_MS],
    ] as const) {
      if ((await held.verify()).verdict !== 'same') return;
      const about = { by: 'guard', pid: identity.pid, identity, subject: 'ssh', signal };
      audit.write({ ...about, event: 'signal-intent', text: `${signal} to ${who}` });
      const outcome = await held.signal(signal);
      const text = outcome.sent ? `${signal} was sent to PID ${identity.pid}` : `PID ${identity.pid} was not signalled`;
      audit.note({ ...about, event: 'signal-outcome', text });
      if (await held.exited(waitMs)) return;
    }
    say('ssh', `${who}, did not end`);
  } catch (error) {
    // Nothing is signalled that cannot be announced (DESIGN rule 4.16).
    if (!(error instanceof AuditUnwritable)) throw error;
    say('ssh', `${who}, was left: ${error.message}`);
  } finally {
    held.release();
  }
}
