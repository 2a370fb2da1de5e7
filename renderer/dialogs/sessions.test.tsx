import type { ReactElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Roll, Server, Session } from '../../app/roll/schema.ts';
import { IdleSection } from '../components/IdleSection.tsx';
import { ServerDetails } from '../components/ServerDetails.tsx';
import { SessionDetails } from '../components/SessionDetails.tsx';
import { SessionsView } from '../components/SessionsView.tsx';
import { StripBar } from '../components/StripBar.tsx';
import { fakeBridge, previewPlan } from '../preview/bridge.ts';
import { exampleRoll, HOME, TAKEN_AT } from '../preview/rolls.ts';
import { statesRoll, watchAlertsRoll } from '../preview/sessions.ts';
import { createActs } from '../state/actions.ts';
import { RollcallContext } from '../state/context.tsx';
import { createWindowStore, type WindowState } from '../state/store.ts';
import { DisconnectDialog } from './DisconnectDialog.tsx';
import { EndDialog } from './EndDialog.tsx';
import { PlanRows } from './PlanRows.tsx';
import { consequences } from './ReapDialog.tsx';
import { SessionDialog } from './SessionDialog.tsx';
import { StopAllDialog } from './StopAllDialog.tsx';

beforeEach(() => {
  vi.useFakeTimers({ now: TAKEN_AT });
});
afterEach(() => {
  vi.useRealTimers();
});

const roll = statesRoll(exampleRoll());

function drawn(element: ReactElement, over: Partial<WindowState> = {}, shown: Roll = roll): string {
  const store = createWindowStore();
  store.setState({ roll: shown, ...over });
  // What is drawn without a page shows a store's first state.
  Object.assign(store, { getInitialState: store.getState });
  return renderToStaticMarkup(
    <RollcallContext value={{ store, acts: createActs(store, fakeBridge(shown)) }}>{element}</RollcallContext>,
  );
}
const words = (html: string): string =>
  html
    .replace(/<[^>]+>/gu, ' ')
    .replace(/\s+/gu, ' ')
    .replaceAll('&quot;', '"');
const lines = (html: string): string[] =>
  [...html.matchAll(/<li><svg.*?<span>(.*?)<\/span><\/li>/gu)].map(([, line]) => line ?? '');
const buttons = (html: string): (string | undefined)[] =>
  [...html.matchAll(/<button[^>]*>([^<]*)<\/button>/gu)].map(([, label]) => label);

function serverOf(pid: number, of: Roll = roll): Server {
  const found = of.servers.find((server) => server.pid === pid);
  if (found === undefined) throw new Error(`the example has no PID ${pid}`);
  return found;
}
function sessionOf(title: string): Session {
  const found = roll.sessions.find((session) => session.title.startsWith(title));
  if (found === undefined) throw new Error(`the example has no session ${title}`);
  return found;
}

describe('questions list the sessions that they cut off', () => {
  const ledger = serverOf(30_010);
  const busy =
    '3 busy sessions are interrupted: “Move invoices to the new ledger”, “Find every caller of postInvoice”, ';

  test('stop and restart of a server, with what becomes of the others', () => {
    expect(lines(drawn(<EndDialog act="restart" server={ledger} />))).toEqual([
      `${busy}“Summarise the release notes”`,
      '1 waiting session is interrupted: “Drop the old table”',
      '4 other sessions end, their history is kept',
      'Their 2 session-end hooks run',
      '0 clients are connected',
      '3 processes end, 640 MB freed',
      'A new server starts in the same folder afterwards',
    ]);
    // Where sessions are not known, its own sign of work is what there is.
    expect(lines(drawn(<EndDialog act="stop" server={{ ...ledger, id: 'f'.repeat(16) }} />))[0]).toBe(
      'It is interrupted at work: a tool child is at work',
    );
  });

  test('reaps, one by one and in a plan; stopping all, and leaving a host', () => {
    const plan = previewPlan(roll, [ledger.id]);
    const [row] = plan.rows;
    if (row === undefined) throw new Error('the plan is empty');
    const own = roll.sessions.filter(({ server }) => server === ledger.id);
    expect(consequences(row, own, 0).slice(0, 2)).toEqual([
      `${busy}“Summarise the release notes”`,
      '1 waiting session is interrupted: “Drop the old table”',
    ]);
    const rows = (results: []) => (
      <PlanRows
        plan={plan}
        sessions={roll.sessions}
        chosen={new Set([ledger.id])}
        onChoose={() => undefined}
        running={false}
        task={null}
        results={results}
      />
    );
    expect(words(drawn(rows([])))).toContain(`${busy}“Summarise the release notes”.`);
    const example = exampleRoll();
    const site = serverOf(20_533, example);
    const interrupted =
      '2 busy sessions are interrupted: “Rewrite the landing page header”, “Port image tests to the new runner”';
    expect(lines(drawn(<StopAllDialog servers={[site]} />, {}, example))).toContain(interrupted);
    expect(lines(drawn(<DisconnectDialog host="build-01" servers={[site]} />, {}, example))).toEqual([
      interrupted,
      '1 idle session ends, “Tidy the footer links”; its history is kept',
    ]);
  });

  test('an end of one session names it and its hooks; one that is busy must be named twice', () => {
    const html = drawn(<SessionDialog act="end" session={sessionOf('Move')} />);
    expect(words(html)).toContain('End “Move invoices to the new ledger”?');
    expect(lines(html)).toEqual([
      'What it does now is interrupted',
      'Its 2 session-end hooks run',
      'Its history is kept, and opencode :4096 goes on',
    ]);
    expect(buttons(html)).toEqual(['Cancel', 'End session']);
    const forced = { ...sessionOf('Move'), end: { allowed: 'force', why: 'It is busy.' } as const };
    const asking = drawn(<SessionDialog act="end" session={forced} />);
    expect(asking).toMatch(/<button[^>]*class="button danger" disabled=""[^>]*>End session/u);
    expect(words(asking)).toContain('End “Move invoices to the new ledger” anyway');
    const none = drawn(<SessionDialog act="end" session={sessionOf('Read')} />, {}, exampleRoll());
    expect(lines(none).slice(0, 2)).toEqual([
      'Nothing is interrupted: it is not at work',
      'No session-end hook is configured',
    ]);
  });
});

describe('the sessions view', () => {
  test('only the rows in view are drawn of five thousand', () => {
    const [first] = roll.sessions;
    if (first === undefined) throw new Error('the example has no session');
    const sessions = Array.from({ length: 5000 }, (_, n) => ({
      ...first,
      key: n.toString(16).padStart(16, '0'),
      title: `Session ${n}`,
    }));
    const html = drawn(<SessionsView roll={{ ...roll, sessions }} home={HOME} />);
    expect(html).toContain('aria-rowcount="5000"');
    expect(html.match(/data-row=/gu)?.length ?? 0).toBeLessThan(60);
    expect(words(html)).toContain('5000 busy, 0 idle');
  });

  test('an empty one says why: nothing there, nothing that fits, or a server whose sessions are not known', () => {
    const none = { ...roll, sessions: [] };
    const view = (over: Partial<WindowState>) => words(drawn(<SessionsView roll={none} home={HOME} />, over, none));
    expect(view({ host: 'pi-lab' })).toContain('No session on pi-lab.');
    expect(view({ filter: 'xyz' })).toContain('No session matches “xyz”.');
    const scope = (id: string) => ({ type: 'server' as const, id, name: 'opencode :4100 on local' });
    expect(view({ scope: scope(serverOf(1220).id) })).toContain(
      'Only opencode :4100 on local Show all The sessions of opencode :4100 on local are not known: it is locked behind a password.',
    );
    expect(view({ scope: scope('f'.repeat(16)) })).toContain(
      'opencode :4100 on local is gone, and so are its sessions.',
    );
  });

  test('details say what it waits for, who started it, and how it ended', () => {
    const of = (title: string) => words(drawn(<SessionDetails session={sessionOf(title)} roll={roll} home={HOME} />));
    expect(of('Drop')).toContain('Waiting for 1 min on local, ~/src/ledger');
    expect(of('Drop')).toContain('What it waits for A permission to run bash: psql -c "drop table old".');
    expect(of('Find')).toContain('Started by Move invoices to the new ledger');
    expect(of('Move')).toContain('Sessions it started 2 Find every caller of postInvoice busy Read the schema idle');
    const ended = of('Clean');
    expect(ended).toContain('Ended 9 min ago on local');
    expect(ended).toContain('How it ended 14:23:05 Its server, opencode :4401, was ended by SIGKILL.');
    expect(ended).not.toContain('Show server');
  });
});

describe('idle servers and failed hooks', () => {
  test('a server’s own idle time is among the choices, and one that is about to stop says when', () => {
    const server = serverOf(30_010);
    if (server.supervised === null) throw new Error('it is supervised in the example');
    const html = drawn(<IdleSection server={server} />);
    expect(words(html)).toContain('Stops at 14:52, idle for 30 min. Keep running');
    const own = drawn(
      <IdleSection server={{ ...server, supervised: { ...server.supervised, idleMinutes: 95, idleStopAt: null } }} />,
    );
    expect([...own.matchAll(/<option[^>]*>([^<]*)</gu)].map(([, label]) => label)).toEqual([
      'never',
      '15 min',
      '30 min',
      '1 h',
      '1 h 35 min',
      '4 h',
    ]);
    expect(own).toContain('<option value="95" selected="">');
    expect(own).not.toContain('Stops at');
    expect(drawn(<IdleSection server={serverOf(41_207)} />)).toBe('');
  });

  test('the alert of an idle stop keeps the server, that of failed hooks runs them again or gives them up', () => {
    const quiet = (shown: Roll): Roll => ({ ...shown, hosts: shown.hosts.filter(({ name }) => name === 'local') });
    const idle = quiet(watchAlertsRoll(exampleRoll(), 'keep-awake'));
    expect(buttons(drawn(<StripBar roll={idle} />, {}, idle))).toEqual(['Show opencode :4096', 'Keep running']);
    const hooks = quiet(watchAlertsRoll(exampleRoll(), 'retry-hooks'));
    expect(buttons(drawn(<StripBar roll={hooks} />, {}, hooks))).toEqual(['Give up', 'Run again']);
  });

  test('a server’s details count its sessions, or say why they are not known', () => {
    const details = (server: Server) =>
      words(
        drawn(<ServerDetails server={server} host={roll.hosts[0]} home={HOME} now={TAKEN_AT.getTime()} phase={null} />),
      );
    expect(details(serverOf(30_010))).toContain(
      'Sessions Show 2 busy, 1 waiting, 1 retrying, 1 with an error, 2 idle, 1 unknown.',
    );
    expect(details(serverOf(1220))).toContain('Sessions not known It is locked behind a password.');
  });
});
