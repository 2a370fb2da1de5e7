/** What the faces say of the audit's entries, and which of them a person asked to see. Pure, as `words.ts` is. */
import { matches } from '../roll/matching.ts';
import type { AuditEntry } from '../roll/schema.ts';

const EVENT_WORDS: Readonly<Record<string, string>> = {
  'signal-intent': 'about to signal',
  'signal-outcome': 'signalled',
  'dispose-intent': 'about to ask it to dispose',
  'dispose-outcome': 'asked to dispose',
  'start-failed': 'start failed',
  'stop-failed': 'stop failed',
  'reap-failed': 'reap failed',
  'came-back': 'came back',
  'wrapper-exited': 'wrapper exited',
  'set-aside': 'record moved aside',
  'record-restored': 'record restored',
  'host-connected': 'host connected',
  'host-lost': 'host lost',
  'host-rebooted': 'host rebooted',
  'session-started': 'session started',
  'session-idle': 'session became idle',
  'session-aborted': 'session aborted',
  'session-ended': 'session ended',
  'hook-done': 'session-end hook ran',
  'hook-failed': 'session-end hook failed',
  'idle-soon': 'idle, stops soon',
};

/** An event of the audit in words: `session-end hook failed`. One without words of its own reads as its name does. */
export function eventWords(event: string): string {
  return Object.hasOwn(EVENT_WORDS, event) ? (EVENT_WORDS[event] ?? event) : event.replaceAll('-', ' ');
}

/** Which part of the timeline is wanted; null asks for all. */
export interface TimelineChoice {
  readonly host: string | null;
  /** Row of a server, also of one that is gone. */
  readonly server: string | null;
  /** Key of a session. */
  readonly session: string | null;
  readonly filter: string;
}

/** Whether an entry belongs to what a person chose to see. */
export function isChosen(entry: AuditEntry, choice: TimelineChoice): boolean {
  return (
    (choice.host === null || entry.host === choice.host) &&
    (choice.server === null || entry.server === choice.server) &&
    (choice.session === null || entry.session === choice.session) &&
    matches(
      [entry.event, eventWords(entry.event), entry.host, entry.subject, entry.text, String(entry.pid ?? '')],
      choice.filter,
    )
  );
}
