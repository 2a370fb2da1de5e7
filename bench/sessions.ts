/** What one session that changes costs from the word of its server to what a window is sent. */
import type { ProcessIdentity } from '../app/identity/identity.ts';
import { RollSender } from '../app/roll/change.ts';
import type { Session } from '../app/roll/schema.ts';
import type { SessionFact, SessionReading } from '../app/servers/kind.ts';
import { EndReasons } from '../app/sessions/end-reasons.ts';
import type { SessionReport, SessionSource } from '../app/sessions/session-source.ts';
import { SessionTracker } from '../app/sessions/session-tracker.ts';
import { roll } from '../e2e/support/fixture-roll.ts';
import { median, type Row, within } from './table.ts';

const SERVERS = 100;
const SESSIONS = 5000;
const ROUNDS = 60;
/** Until the code is compiled, it is not what runs all day. */
const WARM_UP = 20;
const FRAME_MS = 16;
const BEGAN = Date.parse('2026-01-02T03:04:05.000Z');

function fact(number: number): SessionFact {
  return {
    id: `ses_${number}`,
    title: `Session ${number}`,
    directory: `/srv/project-${number % SERVERS}`,
    parent: null,
    state: 'idle',
    detail: null,
    createdAt: BEGAN,
    updatedAt: BEGAN + number,
    heardAt: null,
  };
}

function carrier(number: number): SessionSource {
  const pid = 4000 + number;
  const identity: ProcessIdentity = {
    hostId: 'host',
    bootId: 'boot',
    pidNamespace: 'pid:[1]',
    pid,
    startTime: `linux:${pid}`,
  };
  return {
    identity,
    kind: 'opencode',
    row: pid.toString(16).padStart(16, '0'),
    label: `opencode :${30_000 + number}`,
    directory: null,
    startedAt: BEGAN - 1000,
    proved: true,
    acts: true,
    noActs: '',
    attach: (id) => ['opencode', 'attach', `http://127.0.0.1:${30_000 + number}`, '--session', id],
  };
}

function reports(): SessionReport[] {
  return Array.from({ length: SERVERS }, (_, n): SessionReport => {
    const sessions = new Map<string, SessionFact>();
    for (let number = n; number < SESSIONS; number += SERVERS) sessions.set(`ses_${number}`, fact(number));
    const reading: SessionReading = { why: null, sessions, deleted: new Set(), truncated: false };
    return { carrier: carrier(n), reading, why: '', by: 'server' };
  });
}

/** One server tells of one session anew; everything else keeps its object, as its watch does. */
function changed(told: readonly SessionReport[], round: number): SessionReport[] {
  const number = (round * 97) % SESSIONS;
  return told.map((telling, n) => {
    if (n !== number % SERVERS || telling.reading === null) return telling;
    const sessions = new Map(telling.reading.sessions);
    sessions.set(`ses_${number}`, { ...fact(number), state: 'busy', heardAt: round });
    return { ...telling, reading: { ...telling.reading, sessions } };
  });
}

export function benchSessions(): readonly Row[] {
  const book = new SessionTracker({ host: 'local', ledger: null, causes: new EndReasons(), onEvents: () => undefined });
  const sender = new RollSender();
  let told = reports();
  let version = 1;
  const observe = (): void => void book.observe({ hostId: 'host', bootId: 'boot', reports: told });
  const send = () => {
    const sessions = book.rows as Session[];
    version += 1;
    return sender.changeTo(roll({ version, sessions }));
  };
  observe();
  send();
  if (book.rows.length !== SESSIONS) throw new Error('not every session is in the book');
  const times: number[] = [];
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    told = changed(told, round);
    const begun = performance.now();
    observe();
    const change = send();
    if (round >= WARM_UP) times.push(performance.now() - begun);
    const sent = change.type === 'parts' ? (change.sessions?.changed.length ?? 0) : SESSIONS;
    if (sent !== 1) throw new Error(`${sent} sessions were sent where one had changed`);
  }
  const what = `one session of ${SESSIONS} over ${SERVERS} servers changed: from its server’s word to what is sent`;
  return [within(what, median(times), 'ms', FRAME_MS)];
}
