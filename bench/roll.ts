/** What one changed session costs on its way into a window that shows a thousand servers and five thousand sessions. */

import { applyChange, RollSender, rollChangeSchema } from '../app/roll/change.ts';
import type { Roll } from '../app/roll/schema.ts';
import { roll, server, session } from '../e2e/support/fixture-roll.ts';
import { median, type Row, within } from './table.ts';

const SERVERS = 1000;
const SESSIONS = 5000;
/** Servers that carry sessions. */
const CARRIERS = 100;
const ROUNDS = 40;

/** A frame of a screen that shows sixty in a second, in milliseconds. */
const FRAME_MS = 16;
/** For how long the app's own thread may be held up, in milliseconds. */
const HELD_UP_MS = 5;

function crowded(): Roll {
  const servers = Array.from({ length: SERVERS }, (_, n) => server(n + 1, 'owned'));
  const carriers = servers.slice(0, CARRIERS);
  const sessions = Array.from({ length: SESSIONS }, (_, n) => {
    const on = carriers[n % CARRIERS];
    if (on === undefined) throw new Error('there is no server to carry a session');
    return session(on, 'idle', n + 1);
  });
  return roll({ servers, sessions });
}

/** As the supervisor makes the next roll: what did not change keeps its object. */
function next(before: Roll, round: number): Roll {
  const changed = (round * 97) % SESSIONS;
  const sessions = before.sessions.map((each, n) =>
    n === changed ? { ...each, state: each.state === 'idle' ? ('busy' as const) : ('idle' as const) } : each,
  );
  return { ...before, version: before.version + 1, sessions };
}

export function benchRoll(): readonly Row[] {
  const sender = new RollSender();
  let sent = crowded();
  let shown = applyChange(null, sender.changeTo(sent));
  const sending: number[] = [];
  const taking: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    sent = next(sent, round);
    const begun = performance.now();
    const change = sender.changeTo(sent);
    sending.push(performance.now() - begun);
    const copy: unknown = structuredClone(change);
    const arrived = performance.now();
    shown = applyChange(shown, rollChangeSchema.parse(copy));
    taking.push(performance.now() - arrived);
    if (shown?.version !== sent.version) throw new Error('the window did not take the change in');
  }
  const of = `of ${SESSIONS} sessions and ${SERVERS} servers`;
  return [
    within(`one session ${of} changed: the app finds what to send`, median(sending), 'ms', HELD_UP_MS),
    within(`one session ${of} changed: the window checks it and takes it in`, median(taking), 'ms', FRAME_MS),
  ];
}
