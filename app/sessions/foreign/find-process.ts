/** Whether the process that a foreign file names is still the one that is meant. Pure. */

import type { ProcessInfo } from '../../hosts/host.ts';
import { isFinished } from '../../hosts/process-info.ts';
import type { Observer } from '../../identity/identity.ts';
import { PID_LIMIT } from '../../identity/refuse.ts';

/** What stands at a PID now. */
export type ProcessReading =
  | { readonly found: 'process'; readonly info: ProcessInfo }
  | { readonly found: 'absent' }
  /** It could not be told, as a clause. */
  | { readonly found: 'failed'; readonly why: string };

/** Where files are judged from. */
export interface Place {
  readonly observer: Observer;
  /** The machine's own name, which some tools write. */
  readonly hostname: string;
}

export type FoundProcess =
  | { readonly carried: 'same'; readonly info: ProcessInfo }
  | { readonly carried: 'gone' | 'unknown'; readonly why: string };

/** A number that can be the PID of a session; null for anything else. */
export function pidIn(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value > 1 && value <= PID_LIMIT ? value : null;
}

/** `ps -o lstart=` of the C locale and UTC as a time in ms. It names no zone, and is UTC anyway. */
export function lstartIn(text: string): number | null {
  const [, day, rest] =
    /^\s*[A-Z][a-z]{2}\s+([A-Z][a-z]{2}\s+\d{1,2})\s+(\d\d:\d\d:\d\d\s+\d{4})\s*$/u.exec(text) ?? [];
  if (day === undefined || rest === undefined) return null;
  const time = Date.parse(`${day} ${rest} UTC`);
  return Number.isFinite(time) ? time : null;
}

/** Seconds and microseconds of a start, as macOS keeps it: `1789225633.000123`. */
const SECONDS = /^(\d{1,12})\.\d{6}$/u;

/** Whether a start in a tool's own writing is that of a process; null where the two cannot be compared. */
function startAgrees(written: string, info: ProcessInfo): boolean | null {
  const [source, start = ''] = splitOnce(info.startTime);
  switch (source) {
    case 'linux':
      return /^\d+$/u.test(written) ? written === start : null;
    case 'darwin': {
      const seconds = SECONDS.exec(written)?.[1];
      const then = seconds === undefined ? lstartIn(written) : Number(seconds) * 1000;
      const now = lstartIn(start);
      return then === null || now === null ? null : then === now;
    }
    default:
      // No tool is known to write what Windows says of a start.
      return null;
  }
}

function splitOnce(text: string): [string, string] {
  const at = text.indexOf(':');
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Judges a PID and its start, in the writing of the tool, by what stands there. Only a start that agrees is `same`. */
export function findProcess(pid: number, start: string | null, seen: ProcessReading): FoundProcess {
  if (seen.found === 'absent') return { carried: 'gone', why: `its process, PID ${pid}, is gone` };
  if (seen.found === 'failed')
    return { carried: 'unknown', why: `its process, PID ${pid}, could not be read: ${seen.why}` };
  const { info } = seen;
  const agrees = start === null ? null : startAgrees(start, info);
  if (agrees === null) return { carried: 'unknown', why: `its file does not prove that PID ${pid} is its process` };
  if (!agrees) return { carried: 'gone', why: `its process is gone, PID ${pid} is now ${info.comm || 'another one'}` };
  if (isFinished(info)) return { carried: 'gone', why: `its process, PID ${pid}, has exited` };
  return { carried: 'same', info };
}
