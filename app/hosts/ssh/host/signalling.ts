/** Signals on a remote machine: each is proved and sent inside one script there. */

import type { ProcessRef, Verdict } from '../../../identity/identity.ts';
import { messageOf } from '../../../util/errors.ts';
import type { Host, Signal, SignalOutcome } from '../../host.ts';
import { evidenceOf } from '../../ps/portable-look.ts';
import psScript from '../remote/ps.sh';
import signalProgram from '../remote/signal.py';
import signalScript from '../remote/signal.sh';
import { listedIn, psLine } from './listing.ts';
import { placeOf, seenIn, verdictOn } from './observing.ts';
import type { RemotePlatform } from './platform.ts';
import type { RemoteShell } from './shell.ts';

const DEADLINE_MS = 15_000;

/** How signals are sent on this machine, for the person. */
export function signallingOf(host: string, { python, processes, system }: RemotePlatform): Host['signalling'] {
  if (processes === 'ps') {
    return {
      method: 'verify-then-kill',
      note:
        `Each signal follows on a fresh check by ps in the same script on ${host}, with some milliseconds between the ` +
        `two: ${system} has no handle that a signal could go through.`,
    };
  }
  if (python !== null) {
    return {
      method: 'pidfd',
      note: `Signals go through a kernel handle that python3 on ${host} takes on the very process that is checked.`,
    };
  }
  return {
    method: 'verify-then-kill',
    note:
      `Each signal follows at once on a fresh check in the same script on ${host}, with a moment of microseconds ` +
      'between the two: there is no python3 with kernel handles (pidfds).',
  };
}

/**
 * Proves and signals one process. Never throws: what could not be done is an outcome.
 *
 * @param verify a verdict by other means, for what the script could not even read
 */
export async function sendSignal(
  shell: RemoteShell,
  contact: RemotePlatform,
  ref: ProcessRef,
  signal: Signal,
  verify: () => Promise<Verdict>,
): Promise<SignalOutcome> {
  if (contact.processes === 'ps') return sendByPs(shell, contact, ref, signal, verify);
  const { identity, evidence } = ref;
  const { executable, argvHash } = evidence;
  const ticks = /^linux:(\d+)$/u.exec(identity.startTime)?.[1];
  const hereNow = identity.hostId === contact.observer.hostId;
  if (!hereNow || ticks === undefined || executable === null || argvHash === null) return notSent(await verify());
  const parameters = {
    pid: identity.pid,
    ticks,
    device: executable.device,
    inode: executable.inode,
    hash: argvHash,
    uid: contact.uid,
    boot: identity.bootId,
    namespace: identity.pidNamespace,
    signal: signal.slice('SIG'.length),
    python: contact.python ?? '',
    program: contact.python === null ? '' : signalProgram,
  };
  let answer: Awaited<ReturnType<RemoteShell['run']>>;
  try {
    answer = await shell.run(signalScript, parameters, DEADLINE_MS);
  } catch (error) {
    const reason = messageOf(error);
    return notSent({ verdict: 'unknown', why: `it is not known whether ${signal} was sent: ${reason}` });
  }
  if (answer.has('sent')) return { sent: true };
  const refused = answer.text('refused') ?? 'the script gave no reason';
  const place = placeOf(answer, contact);
  const told = answer.bytes('stat', String(identity.pid)) !== null;
  const read = verdictOn(ref, place, seenIn(answer, identity.pid, place, false), contact.uid);
  // It could not be read there, or died or came round between the first read and the last.
  const verdict = told && read.verdict !== 'same' ? read : await verify();
  return notSent(verdict, refused);
}

function notSent(verdict: Verdict, why = 'its program or arguments were not recorded'): SignalOutcome {
  return { sent: false, verdict: verdict.verdict === 'same' ? { verdict: 'unknown', why } : verdict };
}

/** Two scripts: what stands there is judged first, and must then be there to the letter when it is signalled. */
async function sendByPs(
  shell: RemoteShell,
  contact: RemotePlatform,
  ref: ProcessRef,
  signal: Signal,
  verify: () => Promise<Verdict>,
): Promise<SignalOutcome> {
  const { pid } = ref.identity;
  try {
    const verdict = await verify();
    if (verdict.verdict !== 'same') return { sent: false, verdict };
    const row = listedIn(await shell.run(psScript, { what: 'observe', pids: pid }, DEADLINE_MS))?.find(
      (each) => each.pid === pid,
    );
    if (row?.executable == null || row.uid !== contact.uid || evidenceOf(row).argvHash !== ref.evidence.argvHash) {
      return notSent(verdict, 'it changed while it was read');
    }
    const { device, inode } = row.executable;
    const line = psLine(row);
    const parameters = { what: 'signal', pid, line, device, inode, signal: signal.slice('SIG'.length) };
    const answer = await shell.run(psScript, parameters, DEADLINE_MS);
    if (answer.has('sent')) return { sent: true };
    return notSent(await verify(), answer.text('refused') ?? 'the script gave no reason');
  } catch (error) {
    const reason = messageOf(error);
    return notSent({ verdict: 'unknown', why: `it is not known whether ${signal} was sent: ${reason}` });
  }
}
