/** What follows from the facts of one process in a look. Pure. */
import type { ProcessRef } from '../identity/identity.ts';
import type { ProcessInfo } from './host.ts';

/** Its identity with the evidence that a later check compares. */
export function refOf(info: ProcessInfo): ProcessRef {
  return { identity: info.identity, evidence: { executable: info.executable, argvHash: info.argvHash } };
}

/** Exited: a live process whose main thread has ended looks like a zombie, too, but has other threads (rule 4.3). */
export function isFinished(info: Pick<ProcessInfo, 'state' | 'threads'>): boolean {
  return (info.state === 'Z' || info.state === 'X') && info.threads <= 1;
}

/** What a process occupies: its proportional share where that could be read. Bytes. */
export function memoryOf(info: ProcessInfo): number {
  return info.pssBytes ?? info.rssBytes;
}
