import { beforeEach, expect, test } from 'vitest';
import { type RequestName, requests } from '../app/roll/channels.ts';
import { roll } from '../e2e/support/fixture-roll.ts';
import { comesFrom, type Handlers, type IpcAnswer, registerRequests, type Sender } from './ipc.ts';

const PAGE = 'app://rollcall/index.html';
const ours = { url: PAGE };
type Listener = (event: Sender, ...args: unknown[]) => Promise<IpcAnswer>;

let channels: Map<string, Listener>;
let asked: [string, unknown][];
let reported: string[];
let remove: () => void;

const answers: Record<RequestName, unknown> = {
  'roll.get': roll(),
  'command.run': { ok: true, message: 'done', server: null, results: [] },
  'plan.get': { rows: [], freesBytes: 0, processes: 0, busy: 0 },
  'log.read': { path: null, text: '', truncated: false },
  'log.open': { ok: true },
  'url.open': { ok: true },
  'url.copy': { ok: true },
  'text.copy': { ok: true },
  'folder.choose': { path: null },
  'timeline.export': { ok: true, path: null, entries: 0 },
  'config.open': { ok: true },
  'app.info': { version: '1', platform: 'linux', home: '/', hasTray: true, quitLabel: 'Quit', dataFolders: [] },
  'question.answer': { ok: true },
  'app.quit': { ok: true },
};

function register(over: Partial<Record<RequestName, () => unknown>> = {}): void {
  const names = Object.keys(requests) as RequestName[];
  const handlers = Object.fromEntries(
    names.map((name) => [
      name,
      (payload: unknown) => {
        asked.push([name, payload]);
        const special = over[name];
        return special === undefined ? answers[name] : special();
      },
    ]),
  ) as unknown as Handlers;
  remove = registerRequests(
    {
      handle: (channel, listener: Listener) => {
        channels.set(channel, listener);
      },
      removeHandler: (channel) => {
        channels.delete(channel);
      },
    },
    (event: Sender) => comesFrom(event, ours, PAGE),
    handlers,
    (text) => reported.push(text),
  );
}

const ask = (
  name: RequestName,
  payload: unknown,
  sender: Sender = { senderFrame: ours },
): Promise<IpcAnswer | undefined> => channels.get(name)?.(sender, payload) ?? Promise.resolve(undefined);

beforeEach(() => {
  channels = new Map();
  asked = [];
  reported = [];
});

test('every request of the map has a handler, nothing else has, and all go away again', async () => {
  register();
  expect([...channels.keys()].sort()).toEqual(Object.keys(requests).sort());
  expect(await ask('roll.get', null)).toMatchObject({ ok: true, result: { version: 1 } });
  remove();
  expect(channels.size).toBe(0);
});

test.each<[string, Sender]>([
  ['a frame that is gone', { senderFrame: null }],
  ['another frame on our page', { senderFrame: { url: PAGE } }],
])('%s is refused before anything is read', async (_name, sender) => {
  register();
  const answer = await ask('command.run', { command: 'look' }, sender);
  expect(answer).toEqual({
    ok: false,
    message: "The request command.run was refused: it does not come from Rollcall's window.",
  });
  expect(asked).toEqual([]);
  expect(reported).toHaveLength(1);
});

test.each([
  'app://rollcall/other.html',
  'app://elsewhere/index.html',
  'https://rollcall/index.html',
  'file:///index.html',
  '',
])('our frame on %s is not our page', (url) => {
  const frame = { url };
  expect(comesFrom({ senderFrame: frame }, frame, PAGE)).toBe(false);
});

test('our page with a fragment is our page; without a window nobody is', () => {
  const frame = { url: `${PAGE}?x#servers` };
  expect(comesFrom({ senderFrame: frame }, frame, PAGE)).toBe(true);
  expect(comesFrom({ senderFrame: frame }, null, PAGE)).toBe(false);
});

test.each<[RequestName, unknown]>([
  ['roll.get', {}],
  ['command.run', null],
  ['command.run', { command: 'kill', pid: 1 }],
  ['command.run', { command: 'look', extra: true }],
  ['command.run', { command: 'reap', targets: ['../../x'], confirmed: true, force: true }],
  ['log.read', { server: 'short' }],
  ['text.copy', { text: 'x'.repeat(10_001) }],
])('%s with an invalid payload %j never reaches its handler', async (name, payload) => {
  register();
  const answer = await ask(name, payload);
  expect(answer).toMatchObject({ ok: false, message: expect.stringContaining(`The request ${name} was refused: `) });
  expect(asked).toEqual([]);
});

test('an answer that breaks the map is held back, and a failing handler answers with its sentence', async () => {
  register({ 'app.info': () => ({ version: 1 }) });
  expect(await ask('app.info', null)).toMatchObject({ ok: false, message: expect.stringContaining('was held back') });
  register({
    'plan.get': () => {
      throw new Error('The host does not answer.');
    },
  });
  expect(await ask('plan.get', { targets: 'leaked' })).toEqual({ ok: false, message: 'The host does not answer.' });
});
