/**
 * Sessions of real servers, made really busy by a model that needs no network, and the proof that watching is passive.
 * `ROLLCALL_WATCH_MINUTES=10 npx vitest run app/servers/real-opencode-sessions` watches for longer and prints figures.
 */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { type ClientRequest, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createParser } from 'eventsource-parser';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FakeModel, startFakeModel, writeOpencodeConfig } from '../../e2e/support/fake-model.ts';
import type { Endpoint, ServerWatch, SessionFact } from './kind.ts';
import { kindOf } from './kinds/kinds.ts';
import { endChild, type RealOpencode, startOpencode } from './real-opencode.testing.ts';
import { TIMING } from './session-feed/event-stream.ts';
import { until } from './session-feed/hostile.testing.ts';
import { watchServer } from './session-feed/server-watch.ts';

/** How often the list is asked for while it is watched; what counts is the number of questions, so they come soon. */
const QUESTIONS = 30;
const POLL_MS = 400;
const MINUTES = Number(process.env['ROLLCALL_WATCH_MINUTES'] ?? (QUESTIONS * POLL_MS) / 60_000);
/** What a server may grow by while it is watched, in bytes; its collector lets it breathe by about as much by itself. */
const BREATH = 48 << 20;

let root = '';
let model: FakeModel;
/** All that were started, up or on their way. */
const servers: Promise<RealOpencode>[] = [];
const open: { close(): unknown }[] = [];

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'rollcall-sessions-'));
  model = await startFakeModel();
});
afterAll(async () => {
  for (const thing of open) thing.close();
  for (const server of await Promise.allSettled(servers)) {
    // One that did not come up was ended by its start.
    if (server.status === 'fulfilled') await endChild(server.value.child);
  }
  await model.close();
  await rm(root, { recursive: true, force: true });
});

function start(): Promise<RealOpencode> {
  const permission = { bash: { '*': 'allow', 'touch *': 'ask' }, edit: 'allow' };
  const server = startOpencode(root, writeOpencodeConfig(join(root, 'settings'), model, { mcp: {}, permission }));
  servers.push(server);
  return server;
}

/** Asks as a client of the server would; the answer as text. */
async function client({ port }: Endpoint, method: string, path: string, body?: object): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    // The first request of a folder makes the server load it, which takes a while on a busy machine.
    signal: AbortSignal.timeout(60_000),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path} was answered with ${response.status}`);
  return await response.text();
}

async function create(endpoint: Endpoint, title: string): Promise<string> {
  return (JSON.parse(await client(endpoint, 'POST', '/session', { title })) as { id: string }).id;
}

async function prompt(endpoint: Endpoint, id: string, text: string): Promise<void> {
  await client(endpoint, 'POST', `/session/${id}/prompt_async`, { parts: [{ type: 'text', text }] });
}

/** Every event of the server's stream but its heartbeats. */
function listen({ port }: Endpoint): { type: string; text: string }[] {
  const events: { type: string; text: string }[] = [];
  const parser = createParser({
    onEvent: ({ data: text }) => {
      const { payload } = JSON.parse(text) as { payload: { type: string } };
      if (payload.type !== 'server.heartbeat' && payload.type !== 'server.connected') {
        events.push({ type: payload.type, text });
      }
    },
  });
  const request: ClientRequest = get({ host: '127.0.0.1', port, path: '/global/event', agent: false });
  request.on('response', (response) => response.setEncoding('utf8').on('data', (text: string) => parser.feed(text)));
  // Ended by the end of the server.
  request.on('error', () => undefined);
  open.push({ close: () => request.destroy() });
  return events;
}

interface Followed {
  readonly watch: ServerWatch;
  fact(id: string): SessionFact | undefined;
  /** Whether somebody was told of a session in this state. */
  wasTold(id: string, state: SessionFact['state']): boolean;
}

function follow(endpoint: Endpoint, pollMs?: number): Followed {
  const told = new Set<string>();
  const onChange = (): void => {
    for (const { id, state } of watch.sessions().sessions.values()) {
      told.add(`${id} ${state}`);
    }
  };
  const watch =
    pollMs === undefined
      ? (kindOf('opencode', [])?.watch?.(endpoint, () => onChange()) as ServerWatch)
      : watchServer(
          endpoint,
          () => undefined,
          () => true,
          {
            ...TIMING,
            gatherMs: 100,
            pollMs,
            relistMs: 1000,
            askAgainMs: 1000,
            fadeMs: 1000,
          },
        );
  open.push(watch);
  return {
    watch,
    fact: (id) => watch.sessions().sessions.get(id),
    wasTold: (id, state) => told.has(`${id} ${state}`),
  };
}

const PATIENCE = 60_000;

test('busy, waiting, interrupted, deleted: each is told as it happens, and only by the server that runs it', async () => {
  const a = await start();
  // Of the same home; it comes up while the first one works.
  const starting = start();
  const events = listen(a.endpoint);
  const w = follow(a.endpoint);
  const acts = kindOf('opencode', [])?.sessionActs;
  await until('listed', () => w.watch.sessions().why === null, PATIENCE);
  expect(w.watch.sessions().sessions.size).toBe(0);

  const works = await create(a.endpoint, 'Port images');
  await until('created', () => w.fact(works)?.state === 'idle', PATIENCE);
  expect(w.fact(works)).toMatchObject({
    title: 'Port images',
    directory: join(root, 'project'),
    parent: null,
  });
  await prompt(a.endpoint, works, 'RUN: sleep 300');
  const isBusy = ({ type, text }: { type: string; text: string }) => type === 'session.status' && text.includes('busy');
  await until('busy', () => w.wasTold(works, 'busy') && events.some(isBusy), PATIENCE);

  const asks = await create(a.endpoint, 'Ask me');
  await prompt(a.endpoint, asks, 'RUN: touch asked');
  await until('waiting', () => w.fact(asks)?.state === 'waiting', PATIENCE);
  expect(w.fact(asks)?.detail).toContain('touch asked');
  expect(w.fact(works)?.state).toBe('busy');

  // Opened in the middle of a turn that says nothing: known as soon as anything happens in the folder.
  const late = follow(a.endpoint);
  await until('listed', () => late.watch.sessions().why === null, PATIENCE);
  expect(late.fact(works)?.state).toBe('unknown');
  const [request] = JSON.parse(await client(a.endpoint, 'GET', '/permission')) as { id: string }[];
  await client(a.endpoint, 'POST', `/permission/${request?.id}/reply`, { reply: 'once' });
  await until('answered', () => w.fact(asks)?.state === 'idle', PATIENCE);
  await until('known', () => late.fact(works)?.state === 'busy', PATIENCE);
  await until('known', () => late.fact(asks)?.state === 'idle', PATIENCE);
  late.watch.close();

  const b = await starting;
  const other = follow(b.endpoint);
  await until('listed', () => other.watch.sessions().why === null, PATIENCE);
  expect(other.fact(works)).toMatchObject({ title: 'Port images', state: 'unknown', heardAt: null });
  expect(await acts?.abort(b.endpoint, other.fact(works) as SessionFact, 60_000)).not.toBeNull();
  expect(w.fact(works)?.state).toBe('busy');

  expect(await acts?.abort(a.endpoint, w.fact(works) as SessionFact, 60_000)).toBeNull();
  await until('interrupted', () => w.fact(works)?.state === 'idle', PATIENCE);
  await client(a.endpoint, 'DELETE', `/session/${asks}`);
  await until('deleted', () => w.watch.sessions().deleted.has(asks), PATIENCE);
  expect(w.fact(asks)).toBeUndefined();

  other.watch.close();
  await endChild(a.child);
  await until('in doubt', () => w.fact(works)?.state === 'unknown', PATIENCE);
}, 300_000);

/** Bytes that a process holds in memory, its children and how many descriptors it has open. */
async function costs(pid: number): Promise<{ rss: number; children: string; fds: number }> {
  const tasks = await readdir(`/proc/${pid}/task`);
  const children = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => '')),
  );
  const statm = await readFile(`/proc/${pid}/statm`, 'utf8');
  return {
    rss: Number(statm.split(' ')[1]) * 4096,
    children: children.join('').trim(),
    fds: (await readdir(`/proc/${pid}/fd`)).length,
  };
}

test(
  'watching is passive: no folder is loaded, and memory, children, descriptors and files do not grow',
  async () => {
    // The one that lists the stored sessions of the home and has loaded none of their folders.
    const server = (await servers.at(-1)) as RealOpencode;
    const events = listen(server.endpoint);
    const files = async () => (await readdir(root, { recursive: true })).sort();
    const before = { files: await files(), ...(await costs(server.pid)) };
    const w = follow(server.endpoint, POLL_MS);
    await until('listed', () => w.watch.sessions().why === null, PATIENCE);
    expect(w.watch.sessions().sessions.size).toBe(1);

    const began = performance.now();
    const rss: number[] = [];
    const fds: number[] = [];
    while (performance.now() - began < MINUTES * 60_000) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      const now = await costs(server.pid);
      rss.push(now.rss);
      fds.push(now.fds);
    }
    const third = Math.ceil(rss.length / 3);
    const early = Math.max(...rss.slice(0, third));
    const late = Math.max(...rss.slice(-third));
    if (process.env['ROLLCALL_WATCH_MINUTES'] !== undefined) {
      const mb = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MB`;
      console.log(
        `watched for ${MINUTES} min: RSS ${mb(before.rss)} before, at most ${mb(early)} in the first third and ` +
          `${mb(late)} in the last, ${mb(rss.at(-1) ?? 0)} at the end; descriptors ${before.fds} before, ` +
          `at most ${Math.max(...fds)}, ${fds.at(-1)} at the end; ${events.length} events`,
      );
    }
    expect(late - early).toBeLessThan(BREATH);
    expect((await costs(server.pid)).children).toBe(before.children);
    // The stream, and a question at a time.
    expect(Math.max(...fds) - before.fds).toBeLessThan(8);
    expect(await files()).toEqual(before.files);
    // An instance that is loaded says so in dozens of events.
    expect(events).toEqual([]);
    expect(w.watch.sessions().why).toBeNull();
  },
  MINUTES * 60_000 + 120_000,
);
