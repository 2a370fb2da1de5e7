import { describe, expect, test } from 'vitest';
import type { SessionFact } from '../kind.ts';
import { readSessionEvent, sessionInfoOf, statusOf } from './session-event.ts';
import { createSessionState, type FeedState, SESSIONS_MAX, type Worth } from './session-state.ts';

const info = (id: string, more: object = {}) => ({
  id,
  title: `title of ${id}`,
  directory: '/p',
  time: { created: 1000, updated: 2000 },
  ...more,
});

/** A state whose stream is open, and what sends it events as the real server wraps them. */
function opened(): { state: FeedState; say: (type: string, properties: object, now?: number) => Worth } {
  const state = createSessionState();
  state.opened();
  return {
    state,
    say: (type, properties, now = 0) => {
      const event = readSessionEvent({ directory: '/p', project: 'global', payload: { id: 'e', type, properties } });
      return event === null ? 'nothing' : state.take(event, now);
    },
  };
}

const factOf = (state: FeedState, id = 'ses_1'): SessionFact | undefined => state.reading().sessions.get(id);
const stateOf = (state: FeedState, id = 'ses_1') => [factOf(state, id)?.state, factOf(state, id)?.detail];
const list = (state: FeedState, ...infos: object[]): void => {
  state.listed(infos.map(sessionInfoOf).filter((one) => one !== null));
};

describe('what a session does, by the events of its server', () => {
  test('created, busy, idle: with title, folder, parent and times', () => {
    const { state, say } = opened();
    say('session.created', { sessionID: 'ses_1', info: info('ses_1', { parentID: 'ses_0' }) }, 5);
    expect(factOf(state)).toEqual({
      id: 'ses_1',
      title: 'title of ses_1',
      directory: '/p',
      parent: 'ses_0',
      state: 'idle',
      detail: null,
      createdAt: 1000,
      updatedAt: 2000,
      heardAt: 5,
      instance: null,
    });
    expect(say('session.status', { sessionID: 'ses_1', status: { type: 'busy' } })).toBe('news');
    expect(stateOf(state)).toEqual(['busy', null]);
    expect(factOf(state)?.instance).toBe('/p');
    say('session.idle', { sessionID: 'ses_1' });
    expect(stateOf(state)).toEqual(['idle', null]);
  });

  test('it waits for a permission and a question until they are answered, rejected, or its turn ends', () => {
    const { state, say } = opened();
    const busy = () => say('session.status', { sessionID: 'ses_1', status: { type: 'busy' } });
    const ask = (id: string) =>
      say('permission.asked', {
        id,
        sessionID: 'ses_1',
        permission: 'bash',
        patterns: ['curl -H "Authorization: x y"'],
      });
    busy();
    ask('per_1');
    expect(stateOf(state)).toEqual(['waiting', 'permission for bash: curl -H "Authorization: •••"']);
    say('question.asked', {
      id: 'que_1',
      sessionID: 'ses_1',
      questions: [{ question: 'Which\ndatabase?', header: 'h' }],
    });
    expect(stateOf(state)).toEqual(['waiting', 'an answer to “Which database?”']);
    say('question.rejected', { sessionID: 'ses_1', requestID: 'que_1' });
    expect(stateOf(state)[1]).toMatch(/^permission for bash/u);
    say('permission.replied', { sessionID: 'ses_1', requestID: 'per_1', reply: 'once' });
    expect(stateOf(state)).toEqual(['busy', null]);
    // An interrupted turn never answers what it asked.
    ask('per_2');
    say('session.error', { sessionID: 'ses_1', error: { name: 'MessageAbortedError', data: { message: 'Aborted' } } });
    say('session.status', { sessionID: 'ses_1', status: { type: 'idle' } });
    expect(stateOf(state)).toEqual(['idle', null]);
  });

  test('retries and failures say why, without secrets, until the next turn', () => {
    const { state, say } = opened();
    const retry = { type: 'retry', attempt: 3, message: 'Too many requests for sk-aaaaaaaaaaaaaaaaaaaa', next: 9 };
    say('session.status', { sessionID: 'ses_1', status: retry });
    expect(stateOf(state)).toEqual(['retrying', 'attempt 3: Too many requests for •••']);
    say('session.error', { sessionID: 'ses_1', error: { name: 'APIError', data: { message: 'no\u202e credit' } } });
    say('session.status', { sessionID: 'ses_1', status: { type: 'idle' } });
    expect(stateOf(state)).toEqual(['error', 'no credit']);
    say('session.status', { sessionID: 'ses_1', status: { type: 'busy' } });
    say('session.idle', { sessionID: 'ses_1' });
    expect(stateOf(state)).toEqual(['idle', null]);
  });

  test.each([
    [{ type: 'paused' }, 'its status “paused” is not known to this version'],
    [{ type: 7 }, 'its status has no name'],
    ['busy', 'its status has no name'],
    [null, 'its status has no name'],
  ])('W2 an unknown status %j reads as unknown, never as the last one', (status, detail) => {
    const { state, say } = opened();
    say('session.status', { sessionID: 'ses_1', status: { type: 'busy' } });
    say('permission.asked', { id: 'per_1', sessionID: 'ses_1', permission: 'bash' });
    say('session.status', { sessionID: 'ses_1', status });
    expect(stateOf(state)).toEqual(['unknown', detail]);
  });

  test('deleted ones stay away, whatever comes late; put away ones come back when they are described or work', () => {
    const { state, say } = opened();
    list(state, info('ses_1'), info('ses_2'));
    say('session.deleted', { sessionID: 'ses_1', info: info('ses_1') });
    say('session.status', { sessionID: 'ses_1', status: { type: 'busy' } });
    say('session.updated', { sessionID: 'ses_1', info: info('ses_1') });
    list(state, info('ses_1'));
    expect(factOf(state)).toBeUndefined();
    const away = info('ses_2', { time: { created: 1, updated: 2, archived: 3 } });
    say('session.status', { sessionID: 'ses_2', status: { type: 'busy' } });
    say('session.updated', { sessionID: 'ses_2', info: away });
    expect(stateOf(state, 'ses_2')[0]).toBe('busy');
    say('session.idle', { sessionID: 'ses_2' });
    say('session.diff', { sessionID: 'ses_2', diff: [] });
    expect([...state.reading().deleted]).toEqual(['ses_1', 'ses_2']);
    expect(state.reading().sessions.size).toBe(0);
    say('session.status', { sessionID: 'ses_2', status: { type: 'busy' } });
    list(state, away);
    expect(factOf(state, 'ses_2')).toMatchObject({ state: 'busy', title: 'title of ses_2' });
    expect([...state.reading().deleted]).toEqual(['ses_1']);
    say('session.idle', { sessionID: 'ses_2' });
    say('session.updated', { sessionID: 'ses_2', info: info('ses_2') });
    expect(factOf(state, 'ses_2')?.state).toBe('unknown');
  });

  test('an instance that is disposed of leaves nothing at work in its folder', () => {
    const { state, say } = opened();
    say('session.status', { sessionID: 'ses_1', status: { type: 'busy' } });
    list(state, info('ses_2', { directory: '/q' }));
    say('server.instance.disposed', { directory: '/p' });
    expect(stateOf(state)).toEqual(['idle', null]);
    expect(stateOf(state, 'ses_2')[0]).toBe('unknown');
    say('global.disposed', {});
    expect(stateOf(state, 'ses_2')).toEqual(['idle', null]);
  });
});

describe('what the list and the statuses add', () => {
  test('a listed session of which no event told is unknown; one that two whole lists miss is gone', () => {
    const { state, say } = opened();
    expect(state.reading().why).toBe('its sessions are not listed yet');
    list(state, info('ses_1'), info('ses_2'), { id: 'ses_3', title: 'New session - 2026-11-30T18:06:25.132Z' });
    state.complete(new Set(['ses_1', 'ses_2', 'ses_3']), 0);
    expect(state.reading()).toMatchObject({ why: null, truncated: false });
    expect(stateOf(state)).toEqual(['unknown', 'nothing was heard of it since it is watched']);
    expect(factOf(state, 'ses_3')).toMatchObject({ title: '', directory: null, createdAt: null });
    // Heard of after the first page was asked for: it may be newer than the page.
    say('session.created', { sessionID: 'ses_4', info: info('ses_4') }, 20);
    state.complete(new Set(['ses_1']), 10);
    expect(state.hasMissing()).toBe(true);
    expect(state.reading().sessions.size).toBe(4);
    state.complete(new Set(['ses_1', 'ses_4']), 15);
    expect(state.hasMissing()).toBe(false);
    expect([...state.reading().sessions.keys()]).toEqual(['ses_1', 'ses_4']);
    expect([...state.reading().deleted]).toEqual(['ses_2', 'ses_3']);
    state.complete(null, 30);
    expect([...state.reading().sessions.keys()]).toEqual(['ses_1', 'ses_4']);
    expect(state.reading().truncated).toBe(true);
  });

  test('the statuses of a folder tell of all its sessions, but never against an event', () => {
    const { state, say } = opened();
    list(state, info('ses_1'), info('ses_2'), info('ses_3'), info('ses_4', { directory: '/q' }));
    say('session.status', { sessionID: 'ses_3', status: { type: 'busy' } }, 20);
    state.statuses(
      '/p',
      new Map([
        ['ses_1', statusOf({ type: 'busy' })],
        ['ses_3', statusOf({ type: 'retry' })],
      ]),
      10,
      30,
    );
    expect(stateOf(state, 'ses_1')).toEqual(['busy', null]);
    expect(factOf(state, 'ses_1')).toMatchObject({ heardAt: 30, instance: '/p' });
    expect(stateOf(state, 'ses_2')).toEqual(['idle', null]);
    expect(stateOf(state, 'ses_3')).toEqual(['busy', null]);
    expect(stateOf(state, 'ses_4')[0]).toBe('unknown');
  });

  test('what is listed after the statuses of its folder is idle, too, unless it has shown work since', () => {
    const { state, say } = opened();
    state.statuses('/p', new Map([['ses_1', statusOf({ type: 'busy' })]]), 10, 20);
    say('message.part.delta', { sessionID: 'ses_3', delta: 'x' }, 30);
    list(state, info('ses_1'), info('ses_2'), info('ses_3'), info('ses_4', { directory: '/q' }));
    expect(['ses_1', 'ses_2', 'ses_3', 'ses_4'].map((id) => stateOf(state, id)[0])).toEqual([
      'busy',
      'idle',
      'busy',
      'unknown',
    ]);
    // Another connection knows nothing of that.
    state.broke('it does not answer');
    state.opened();
    list(state, info('ses_5'));
    expect(stateOf(state, 'ses_5')[0]).toBe('unknown');
  });

  test('a part of a message is a sign of work until a status says more or ten seconds have passed', () => {
    const { state, say } = opened();
    list(state, info('ses_1'));
    say('message.part.delta', { sessionID: 'ses_1', delta: 'x' }, 1000);
    expect(stateOf(state)).toEqual(['busy', null]);
    state.fade(11_000);
    expect(stateOf(state)).toEqual(['busy', null]);
    expect(state.fade(11_001)).toBe('news');
    expect(stateOf(state)).toEqual(['unknown', 'its events have not said yet what it does']);
    say('session.idle', { sessionID: 'ses_1' }, 12_000);
    say('message.part.updated', { part: { sessionID: 'ses_1' } }, 12_001);
    expect(stateOf(state)).toEqual(['idle', null]);
  });

  test('a broken stream leaves everything unknown, with the reason, until events tell again', () => {
    const { state, say } = opened();
    list(state, info('ses_1'), info('ses_2'));
    say('permission.asked', { id: 'per_1', sessionID: 'ses_1', permission: 'bash' });
    state.complete(new Set(['ses_1', 'ses_2']), 0);
    state.broke('its event stream ended');
    expect(state.reading().why).toBe('its event stream ended');
    expect(stateOf(state)).toEqual(['unknown', 'its event stream ended']);
    expect(factOf(state)?.title).toBe('title of ses_1');
    state.opened();
    expect(state.reading().why).toBe('its sessions are not listed yet');
    expect(stateOf(state)).toEqual(['unknown', 'nothing was heard of it since the event stream came back']);
    expect(stateOf(state, 'ses_2')).toEqual(['unknown', 'nothing was heard of it since it is watched']);
    say('session.status', { sessionID: 'ses_1', status: { type: 'busy' } });
    expect(stateOf(state)).toEqual(['busy', null]);
  });
});

describe('what is bounded', () => {
  test('however many sessions are told of, the newest are kept, and first of all those at work', () => {
    const { state, say } = opened();
    say('session.status', { sessionID: 'ses_work', status: { type: 'busy' } });
    for (let nth = 0; nth < 3 * SESSIONS_MAX; nth += 1) {
      list(state, info(`ses_${nth}`, { time: { created: 1, updated: nth + 1 } }));
    }
    const { sessions, truncated } = state.reading();
    expect(sessions.size).toBe(SESSIONS_MAX);
    expect(truncated).toBe(true);
    expect(sessions.get('ses_work')?.state).toBe('busy');
    expect(sessions.has(`ses_${3 * SESSIONS_MAX - 1}`)).toBe(true);
    expect(sessions.has('ses_0')).toBe(false);
    for (let nth = 0; nth < 5000; nth += 1) say('session.deleted', { sessionID: `ses_${nth}` });
    expect(state.reading().deleted.size).toBe(1000);
    for (let nth = 0; nth < 500; nth += 1) {
      say('permission.asked', { id: `per_${nth}`, sessionID: 'ses_work', permission: 'bash' });
    }
    say('session.status', { sessionID: 'ses_work', status: { type: 'idle' } });
    expect(stateOf(state, 'ses_work')).toEqual(['idle', null]);
  });

  test('a reading stays the same object until something has changed, and signs of life renew it now and then', () => {
    const { state, say } = opened();
    list(state, info('ses_1'), info('ses_2'));
    say('session.status', { sessionID: 'ses_1', status: { type: 'busy' } }, 1000);
    const first = state.reading();
    for (let now = 1001; now < 6000; now += 1) {
      expect(say('message.part.delta', { sessionID: 'ses_1', delta: 'x' }, now)).toBe('nothing');
    }
    expect(state.reading()).toBe(first);
    expect(say('message.part.delta', { sessionID: 'ses_1', delta: 'x' }, 6000)).toBe('news');
    const second = state.reading();
    expect(second.sessions.get('ses_1')?.heardAt).toBe(6000);
    expect(second.sessions.get('ses_2')).toBe(first.sessions.get('ses_2'));
    expect(second.deleted).toBe(first.deleted);
    list(state, info('ses_1'), info('ses_2'));
    state.complete(new Set(['ses_1', 'ses_2']), 0);
    const third = state.reading();
    list(state, info('ses_1'), info('ses_2'));
    state.complete(new Set(['ses_1', 'ses_2']), 0);
    expect(state.reading()).toBe(third);
  });

  test.each([
    null,
    7,
    [],
    { payload: null },
    { payload: { type: 'session.status' } },
    { payload: { type: 'session.status', properties: { sessionID: '../../x', status: { type: 'busy' } } } },
    { payload: { type: 'session.status', properties: { sessionID: '--help', status: { type: 'busy' } } } },
    { payload: { type: 'session.updated', properties: { info: { title: 'no id' } } } },
    { payload: { type: 'sync', syncEvent: { type: 'session.created.1', data: { sessionID: 'ses_1' } } } },
    { payload: { type: 'tui.toast.show', properties: { sessionID: 'ses_1' } } },
    { payload: { type: 'x'.repeat(1000), properties: { sessionID: 'ses_1' } } },
  ])('garbage tells of no session: %j', (event) => {
    expect(readSessionEvent(event)).toBeNull();
  });

  test('titles are one plain line of at most 200 characters, and folders are absolute', () => {
    const long = sessionInfoOf({ id: 'ses_1', title: `a\u0007\u202e\n${'😀'.repeat(900_000)}`, directory: 'x/y' });
    expect(Array.from(long?.title ?? '').length).toBe(200);
    expect(long?.title.startsWith('a 😀')).toBe(true);
    expect(long?.directory).toBeNull();
    expect(sessionInfoOf({ id: 'ses_1', location: { directory: 'C:\\p' } })?.directory).toBe('C:\\p');
    expect(sessionInfoOf({ id: 'ses_1', directory: '/p\nq' })?.directory).toBeNull();
  });
});
