import { afterEach, describe, expect, test, vi } from 'vitest';
import type { ServerWatch, SessionFact } from '../kind.ts';
import { type FakeOpencode, fakeOpencode, told } from './fake-opencode.testing.ts';
import { until } from './hostile.testing.ts';
import { type ListsPassively, watchServer } from './server-watch.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const thing of open.splice(0).reverse()) await thing.close();
});

const FAST = {
  silenceMs: 30_000,
  retryMs: 20,
  retryMaxMs: 100,
  doubtMs: 400,
  gatherMs: 20,
  pollMs: 60_000,
  relistMs: 50,
  askAgainMs: 50,
  fadeMs: 1000,
};

interface Watched {
  readonly server: FakeOpencode;
  readonly watch: ServerWatch;
  changes(): number;
  fact(id?: string): SessionFact | undefined;
  /** `busy`, or `unknown: why`. */
  state(id?: string): string | undefined;
}

async function watched(
  sessions: readonly string[],
  { timing = {}, lists = () => true, port = 0 }: { timing?: object; lists?: ListsPassively; port?: number } = {},
  prepare: (server: FakeOpencode) => void = () => undefined,
): Promise<Watched> {
  const server = await fakeOpencode(port);
  server.sessions = sessions.map((id) => told(id));
  prepare(server);
  let changes = 0;
  const watch = watchServer(server.endpoint, () => (changes += 1), lists, { ...FAST, ...timing });
  open.push(server, watch);
  const fact = (id = 'ses_1') => watch.sessions().sessions.get(id);
  return {
    server,
    watch,
    changes: () => changes,
    fact,
    state: (id) => {
      const found = fact(id);
      return found === undefined || found.detail === null ? found?.state : `${found.state}: ${found.detail}`;
    },
  };
}

const busy = (id = 'ses_1') => ({ sessionID: id, status: { type: 'busy' } });
const isListed = ({ watch }: Watched) => watch.sessions().why === null;

describe('sessions of a watched server', () => {
  test('the list tells which there are, events what they do, and all of it is told of once', async () => {
    const w = await watched(['ses_2', 'ses_1']);
    expect(w.watch.sessions()).toMatchObject({ why: 'its sessions are not listed yet', truncated: false });
    expect(w.state()).toBeUndefined();
    await until('listed', () => isListed(w));
    expect(w.state()).toBe('unknown: nothing was heard of it since it is watched');
    expect(w.fact()).toMatchObject({ title: 'title of ses_1', directory: '/p', heardAt: null });
    const before = w.changes();
    w.server.say('session.status', busy());
    await until('busy', () => w.state() === 'busy');
    await until('told', () => w.changes() > before);
    expect(w.watch.reading()).toMatchObject({ busy: true });
    w.server.say('session.idle', { sessionID: 'ses_1' });
    await until('idle', () => w.state() === 'idle');
    expect(w.server.requests.every((request) => request.startsWith('GET '))).toBe(true);
  });

  test('a folder in which a tool runs is asked about once; one that was let go of since is not', async () => {
    const w = await watched(['ses_1'], {}, (server) => server.statuses.set('/p', { ses_1: { type: 'busy' } }));
    const asked = () => w.server.requests.filter((request) => request.includes('/session/status'));
    // Without a stream nothing proves anything.
    w.watch.worksIn(['/p']);
    await until('listed', () => isListed(w));
    expect(asked()).toEqual([]);
    w.watch.worksIn(['/p']);
    await until('busy', () => w.state() === 'busy');
    w.watch.worksIn(['/p']);
    w.server.say('server.instance.disposed', { directory: '/p' });
    await until('let go of', () => w.state() !== 'busy');
    w.watch.worksIn(['/p']);
    w.server.say('session.updated', { info: told('ses_2') });
    await until('heard', () => w.fact('ses_2') !== undefined);
    expect(asked()).toHaveLength(1);
  });

  test('a list of many pages is read to its end, and a page that is too long is asked for in parts', async () => {
    const ids = Array.from({ length: 450 }, (_, nth) => `ses_${nth}`);
    const w = await watched(ids, {}, (server) => {
      for (const session of server.sessions.slice(0, 200)) session['revert'] = 'x'.repeat(8000);
    });
    await until('listed', () => isListed(w));
    expect(w.watch.sessions().sessions.size).toBe(450);
    expect(w.server.asked('/api/session?limit=50')).toBeGreaterThan(8);
  });

  test('of more sessions than are read the newest are kept, and nothing follows from what is missing', async () => {
    const ids = Array.from({ length: 5500 }, (_, nth) => `ses_${nth}`);
    const w = await watched(ids);
    await until('listed', () => isListed(w));
    const { sessions, truncated, deleted } = w.watch.sessions();
    expect([sessions.size, truncated, deleted.size]).toEqual([2000, true, 0]);
    expect(w.server.asked('/api/session')).toBe(25);
  });

  test.each([
    ['a page that repeats', { data: [told('ses_1')], cursor: { next: 'again' } }, 'its list of sessions does not end'],
    ['no list', { sessions: [] }, 'its list of sessions cannot be read'],
    ['a page for people', '<html>', 'its list of sessions cannot be read'],
  ])('a list that is none leaves its sessions unlisted: %s', async (_, body, why) => {
    const w = await watched([], {}, (server) => {
      server.instead = (path, res) => {
        if (path === '/api/session') res.end(typeof body === 'string' ? body : JSON.stringify(body));
        return path === '/api/session';
      };
    });
    await until('told why', () => w.watch.sessions().why === why);
    await until('asked again', () => w.server.asked('/global/health') > 2);
    w.server.say('session.status', busy());
    await until('events count anyway', () => w.state() === 'busy');
    expect(w.fact()?.directory).toBe('/p');
  });

  test('a version that may load folders for a list is never asked for one', async () => {
    const why = 'a version before 1.18 may load folders';
    const lists: ListsPassively = (version) => (version === '1.14.34' ? why : true);
    const w = await watched(['ses_1'], { lists }, (server) => {
      server.version = '1.14.34';
    });
    await until('told why', () => w.watch.sessions().why === why);
    w.server.say('session.created', { sessionID: 'ses_1', info: told('ses_1') });
    await until('events count anyway', () => w.state() === 'idle');
    expect(w.server.asked('/api/session')).toBe(0);
  });

  test('A22 a locked server is asked for nothing else', async () => {
    const w = await watched(['ses_1'], {}, (server) => {
      server.instead = (_, res) => {
        res.writeHead(401).end();
        return true;
      };
    });
    await until('locked', () => w.watch.sessions().why === 'its event stream is locked behind a password');
    await until('tried again', () => w.server.asked('/global/event') > 1);
    expect(w.server.requests.length).toBe(w.server.asked('/global/event'));
  });

  test.each([1, 300])('a session that an event names within %i ms of a list is looked up', async (relistMs) => {
    const w = await watched([], { timing: { relistMs } });
    await until('listed', () => isListed(w));
    // On a busy machine its opening may have been tried twice.
    const streams = w.server.asked('/global/event');
    w.server.sessions = [told('ses_1')];
    w.server.say('session.status', busy());
    await until('named', () => w.state() === 'busy');
    await until('described', () => w.fact()?.title === 'title of ses_1');
    expect(w.server.asked('/global/event')).toBe(streams);
  });

  test('one that another server of the home deletes is gone after the list has missed it twice', async () => {
    const w = await watched(['ses_1', 'ses_2'], { timing: { pollMs: 100 } });
    await until('listed', () => isListed(w));
    w.server.sessions = [told('ses_2')];
    await until('gone', () => w.fact() === undefined);
    expect([...w.watch.sessions().deleted]).toEqual(['ses_1']);
    expect(w.fact('ses_2')).toBeDefined();
  });

  test('servers of one home list the same sessions, and only the one that runs it says busy', async () => {
    const runs = await watched(['ses_1', 'ses_2']);
    const other = await watched(['ses_1', 'ses_2']);
    await until('both listed', () => isListed(runs) && isListed(other));
    runs.server.say('session.status', busy());
    other.server.say('session.idle', { sessionID: 'ses_2' });
    await until('both told', () => runs.state() === 'busy' && other.state('ses_2') === 'idle');
    expect(other.state()).not.toBe('busy');
    expect(other.fact()?.heardAt).toBeNull();
    expect(runs.fact()?.heardAt).not.toBeNull();
  });

  test('closed, it asks and tells nothing any more', async () => {
    const w = await watched(['ses_1'], { timing: { pollMs: 20 } }, (server) => {
      server.instead = (path) => path === '/api/session';
    });
    await until('a list is under way', () => w.server.asked('/api/session') === 1);
    w.watch.close();
    await until('hung up', () => w.server.connections() === 0);
    const { length } = w.server.requests;
    const changes = w.changes();
    // Another one of the same interval goes on asking.
    const other = await watched(['ses_1'], { timing: { pollMs: 20 } });
    await until('another one has asked', () => other.server.asked('/api/session') >= 5);
    expect([w.server.requests.length, w.changes()]).toEqual([length, changes]);
  });
});

describe('the statuses of a folder', () => {
  test('are asked once, and only where events of this connection show that its instance runs', async () => {
    const w = await watched(['ses_1', 'ses_2']);
    w.server.statuses.set('/p', { ses_2: { type: 'retry', attempt: 1, message: 'busy there', next: 1 } });
    await until('listed', () => isListed(w));
    // Anybody can have sessions made for a folder that no instance was started for.
    w.server.say('session.created', { sessionID: 'ses_3', info: told('ses_3', { directory: '/q' }) }, '/q');
    w.server.say('message.part.delta', { sessionID: 'ses_1', delta: 'x' });
    await until('asked', () => w.state('ses_2') === 'retrying: attempt 1: busy there');
    // Its part came before the question, and the answer leaves it out.
    expect(w.state('ses_1')).toBe('idle');
    expect(w.state('ses_3')).toBe('idle');
    w.server.say('session.status', busy());
    await until('busy', () => w.state() === 'busy');
    expect(w.server.asked('/session/status')).toBe(1);
    expect(w.server.asked('/session/status?directory=%2Fp')).toBe(1);
  });

  test('are not asked where the instance has gone, and asked again when it is back', async () => {
    const w = await watched(['ses_1']);
    await until('listed', () => isListed(w));
    const gone = JSON.stringify({ payload: { type: 'server.instance.disposed', properties: { directory: '/r' } } });
    const there = JSON.stringify({
      directory: '/r',
      payload: { type: 'message.part.delta', properties: { sessionID: 'ses_1' } },
    });
    let held: (() => void) | null = null;
    w.server.instead = (path, res) => {
      if (path !== '/session/status' || held !== null) return false;
      held = () => res.end('{}');
      return true;
    };
    // The first question is held up, so the second waits behind it; its folder goes meanwhile.
    w.server.say('message.part.delta', { sessionID: 'ses_1' });
    await until('asked', () => held !== null);
    w.server.write(`data: ${there}\n\ndata: ${gone}\n\n`);
    await until('seen', () => w.fact()?.instance === '/r' && w.state() === 'idle');
    (held as (() => void) | null)?.();
    w.server.say('session.idle', { sessionID: 'ses_2' });
    await until('later', () => w.state('ses_2') === 'idle');
    expect(w.server.asked('/session/status?directory=%2Fr')).toBe(0);
    w.server.write(`data: ${there}\n\n`);
    await until('asked again', () => w.server.asked('/session/status?directory=%2Fr') === 1);
  });

  test('are asked of a hundred folders of a connection at most', async () => {
    const w = await watched([]);
    await until('listed', () => isListed(w));
    for (let nth = 0; nth < 300; nth += 1) w.server.say('session.idle', { sessionID: `ses_${nth}` }, `/folder/${nth}`);
    await until('all asked', () => w.server.asked('/session/status') === 100);
    w.server.say('session.status', busy('ses_last'), '/folder/last');
    await until('the last is heard', () => w.state('ses_last') === 'busy');
    expect(w.server.asked('/session/status')).toBe(100);
  });
});

describe('faults of a stream leave the reading right', () => {
  test('half-open: unknown with the reason, then listed anew, and known again by its events', async () => {
    const w = await watched(['ses_1'], { timing: { silenceMs: 700, retryMs: 200 } });
    await until('listed', () => isListed(w));
    w.server.say('session.status', busy());
    await until('busy', () => w.state() === 'busy');
    await until('silent', () => w.state() === 'unknown: its event stream fell silent');
    expect(w.watch.sessions().why).toBe('its event stream fell silent');
    await until('listed again', () => isListed(w) && w.server.asked('/api/session') >= 2);
    expect(w.state()).toBe('unknown: nothing was heard of it since the event stream came back');
    w.server.say('session.status', busy());
    await until('busy again', () => w.state() === 'busy');
  });

  test('garbage and a giant event: what comes behind them counts', async () => {
    const w = await watched(['ses_1']);
    await until('listed', () => isListed(w));
    const streams = w.server.asked('/global/event');
    w.server.write('data: {not json\n\n\u0000\u0001\ndata: null\n\ndata: [[[]]]\n\ndata: {"payload":{"type":{}}}\n\n');
    w.server.write(`data: ${'['.repeat(900_000)}\n\n`);
    const giant = told('ses_1', { title: 'x'.repeat(2_000_000) });
    w.server.say('session.updated', { sessionID: 'ses_1', info: giant });
    w.server.say('session.status', { sessionID: 'ses_1', status: { type: 'retry', message: 'y'.repeat(900_000) } });
    w.server.say('session.status', busy('ses_2'));
    await until('busy', () => w.state('ses_2') === 'busy');
    expect(w.fact()?.title).toBe('title of ses_1');
    expect(w.fact()?.detail?.length).toBeLessThan(300);
    expect(w.server.asked('/global/event')).toBe(streams);
  });

  test('thousands of events: told of once, and the last word of each session stands', async () => {
    // Within this time changes are told together, so the number of calls does not hang on the machine.
    const w = await watched([], { timing: { gatherMs: 3_600_000, relistMs: 3_600_000 } });
    await until('listed', () => isListed(w));
    expect(w.changes()).toBe(1);
    for (let nth = 0; nth < 20_000; nth += 1) {
      const id = `ses_${nth % 500}`;
      w.server.say('session.status', nth % 1000 < 500 ? busy(id) : { sessionID: id, status: { type: 'idle' } });
    }
    w.server.say('session.status', busy('ses_7'));
    w.server.say('session.status', busy('ses_last'));
    await until('all seen', () => w.state('ses_last') === 'busy');
    const { sessions } = w.watch.sessions();
    expect([...sessions.values()].filter(({ state }) => state === 'busy').map(({ id }) => id)).toEqual([
      'ses_7',
      'ses_last',
    ]);
    expect(sessions.size).toBe(501);
    expect(w.changes()).toBe(1);
  });

  test('thousands of sessions that never existed: no more are kept than may be', async () => {
    const w = await watched([], { timing: { relistMs: 3_600_000 } });
    await until('listed', () => isListed(w));
    for (let nth = 0; nth < 10_000; nth += 1) w.server.say('session.status', busy(`ses_${nth}`));
    w.server.say('permission.asked', { sessionID: 'ses_last', id: 'per_1', permission: 'bash' });
    await until('all seen', () => w.state('ses_last')?.startsWith('waiting') === true);
    expect(w.watch.sessions().sessions.size).toBeLessThanOrEqual(2000);
    expect(w.watch.sessions().truncated).toBe(true);
  });

  test('another server on the same port: what the old one ran is in doubt, then gone with its list', async () => {
    const w = await watched(['ses_1']);
    await until('listed', () => isListed(w));
    w.server.say('session.status', busy());
    await until('busy', () => w.state() === 'busy');
    await w.server.close();
    await until('in doubt', () => w.state()?.startsWith('unknown') === true);
    const { port } = w.server.endpoint;
    const next = await fakeOpencode(port);
    open.push(next);
    next.sessions = [told('ses_2')];
    await until('listed anew', () => w.fact('ses_2') !== undefined && w.fact() === undefined);
    expect(w.watch.sessions()).toMatchObject({ why: null });
    next.say('session.status', busy('ses_2'));
    await until('busy', () => w.state('ses_2') === 'busy');
  });

  test.each([[8], [-1]])('a wall clock that jumps by %d h makes nothing old and nothing new', async (hours) => {
    const w = await watched(['ses_1']);
    await until('listed', () => isListed(w));
    const streams = w.server.asked('/global/event');
    w.server.say('session.status', busy());
    await until('busy', () => w.state() === 'busy');
    const heardAt = w.fact()?.heardAt ?? Number.NaN;
    const real = Date.now;
    vi.spyOn(Date, 'now').mockImplementation(() => real() + hours * 3_600_000);
    w.server.say('session.status', busy('ses_2'));
    await until('heard', () => w.state('ses_2') === 'busy');
    expect(w.state()).toBe('busy');
    expect(Math.abs((w.fact('ses_2')?.heardAt ?? Number.NaN) - heardAt)).toBeLessThan(60_000);
    expect(w.server.asked('/global/event')).toBe(streams);
  });
});
