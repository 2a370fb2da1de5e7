import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Fixture, fixture } from './hostile.testing.ts';

/** What the real server sends for one session, in events and, with `location`, in its list. */
export function told(id: string, more: object = {}): Record<string, unknown> {
  return { id, title: `title of ${id}`, directory: '/p', time: { created: 1000, updated: 2000 }, ...more };
}

export interface FakeOpencode extends Fixture {
  /** Sessions of the home, newest first; answered in pages. */
  sessions: Record<string, unknown>[];
  /** By folder, as `/session/status` answers. */
  readonly statuses: Map<string, object>;
  version: string;
  /** Answers instead of the fake, and returns true, where a test wants something else. */
  instead: (path: string, res: ServerResponse, req: IncomingMessage) => boolean;
  /** How often a path was asked, by what it starts with. */
  asked(path: string): number;
  /** Writes raw text on the newest open stream. */
  write(text: string): void;
  say(type: string, properties: object, directory?: string): void;
  /** Breaks the newest stream. */
  cut(): void;
}

/** A fake of opencode’s passive endpoints on the loopback. */
export async function fakeOpencode(port = 0): Promise<FakeOpencode> {
  const streams: ServerResponse[] = [];
  const paths: string[] = [];
  const json = (res: ServerResponse, body: unknown): void => {
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const server = await fixture(
    (req, res) => {
      const url = new URL(req.url ?? '/', 'http://fake');
      paths.push(`${url.pathname}${url.search}`);
      if (fake.instead(url.pathname, res, req)) return;
      if (url.pathname === '/global/event') {
        streams.push(res);
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        res.write(line('server.connected', {}, null));
      } else if (url.pathname === '/global/health') {
        json(res, { healthy: true, version: fake.version });
      } else if (url.pathname === '/api/session') {
        const from = Number(url.searchParams.get('cursor') ?? 0);
        const to = from + Number(url.searchParams.get('limit') ?? 50);
        const data = fake.sessions.slice(from, to);
        json(res, { data, cursor: { previous: null, next: data.length > 0 ? String(to) : null } });
      } else if (url.pathname === '/session/status') {
        json(res, fake.statuses.get(url.searchParams.get('directory') ?? '') ?? {});
      } else {
        res.writeHead(404).end();
      }
    },
    '127.0.0.1',
    '127.0.0.1',
    port,
  );
  const line = (type: string, properties: object, directory: string | null): string =>
    `data: ${JSON.stringify({ directory, payload: { id: 'e', type, properties } })}\n\n`;
  const fake: FakeOpencode = {
    ...server,
    sessions: [],
    statuses: new Map(),
    version: '1.18.33',
    instead: () => false,
    asked: (path) => paths.filter((asked) => asked.startsWith(path)).length,
    write: (text) => streams.at(-1)?.write(text),
    say: (type, properties, directory = '/p') => streams.at(-1)?.write(line(type, properties, directory)),
    cut: () => streams.at(-1)?.destroy(),
  };
  return fake;
}
