import type { Evidence, Observation, Observer, ProcessRef, Verdict } from './identity.ts';

/** True, false, or null where one side lacks what is needed to compare. */
function evidenceAgrees(recorded: Evidence, seen: Evidence): boolean | null {
  if (recorded.argvHash === null || seen.argvHash === null) return null;
  if (recorded.executable === null || seen.executable === null) return null;
  return (
    recorded.argvHash === seen.argvHash &&
    recorded.executable.device === seen.executable.device &&
    recorded.executable.inode === seen.executable.inode
  );
}

/**
 * Compares a recorded process with what stands at its PID now.
 *
 * Pure. Order matters: where the record comes from decides before what was found, so that a number from
 * another machine or namespace is never compared with ours. Clocks take no part: neither wall time nor boot
 * time is read, so no clock step can change a verdict.
 */
export function judge(recorded: ProcessRef, observer: Observer, seen: Observation): Verdict {
  const { identity } = recorded;
  if (identity.hostId !== observer.hostId) {
    return { verdict: 'foreign', why: 'it was recorded on another host' };
  }
  if (identity.bootId !== observer.bootId) {
    return { verdict: 'gone', why: 'the machine has booted since' };
  }
  if (identity.pidNamespace !== observer.pidNamespace) {
    return { verdict: 'foreign', why: 'it was recorded in another PID namespace' };
  }
  switch (seen.found) {
    case 'absent':
      return { verdict: 'gone', why: `no process has PID ${identity.pid}` };
    case 'denied':
    case 'failed':
      return { verdict: 'unknown', why: seen.why };
    case 'thread':
      return { verdict: 'thread', of: seen.of };
    case 'process':
      return judgeProcess(recorded, seen);
  }
}

function judgeProcess(recorded: ProcessRef, seen: Extract<Observation, { found: 'process' }>): Verdict {
  const { identity } = recorded;
  if (identity.pid !== seen.identity.pid) {
    return { verdict: 'unknown', why: `PID ${seen.identity.pid} was read instead of ${identity.pid}` };
  }
  const handles = identity.pidfdId !== undefined && seen.identity.pidfdId !== undefined;
  const oneHandle = handles && identity.pidfdId === seen.identity.pidfdId;
  if (identity.startTime !== seen.identity.startTime) {
    // No two processes of a boot share a handle; in another time namespace one process shows another start.
    return oneHandle
      ? { verdict: 'unknown', why: 'its kernel handle is the recorded one, but its start time is another' }
      : { verdict: 'reused', by: seen.name };
  }
  const same: Verdict = seen.finished ? { verdict: 'zombie' } : { verdict: 'same' };
  if (handles) return oneHandle ? same : { verdict: 'reused', by: seen.name };
  // A zombie has lost its argv and executable, so nothing is left to compare, and nothing may be signalled.
  if (seen.finished) return same;
  // One tick is 10 ms and a PID can come round within it, so equal ticks alone prove nothing (DESIGN rule 4.2).
  const { nonce } = recorded.evidence;
  // Who has the recorded number and start and carries the record's nonce is that process, whatever it calls itself.
  if (nonce !== undefined && nonce === seen.evidence.nonce) return same;
  const agrees = evidenceAgrees(recorded.evidence, seen.evidence);
  if (agrees === true) return same;
  return {
    verdict: 'unknown',
    why:
      agrees === null
        ? 'its start time is equal, but its program or arguments could not be read to confirm it'
        : 'its start time is equal, but its program or arguments have changed',
  };
}
