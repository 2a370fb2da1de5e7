import type { RequestListener } from 'node:http';
import { createServer } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Health } from '../kind.ts';
import { kindOf } from '../kinds/kinds.ts';
import { endpointAt, type Fixture, fixture } from '../session-feed/hostile.testing.ts';
import { loopbackOf, loopbackUrl } from './http.ts';

const open: Fixture[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function serve(handler: RequestListener, address?: string, host?: string): Promise<Fixture> {
  const server = await fixture(handler, address, host);
  open.push(server);
  return server;
}

function health(kind: string, at: Fixture['endpoint'], deadlineMs = 5000): Promise<Health> {
  const found = kindOf(kind, [{ name: 'house', program: 'house', args: [], health: { path: '/up', contains: 'yes' } }]);
  if (found === null) throw new Error(`no kind ${kind}`);
  return found.health(at, deadlineMs);
}

const good: RequestListener = (_, res) => res.end('{"healthy":true,"version":"1.18.33"}');

describe('health at the kind’s own endpoint', () => {
  test('opencode answers its own way', async () => {
    const server = await serve(good);
    expect(await health('opencode', server.endpoint)).toEqual({ state: 'ok', version: '1.18.33' });
    expect(server.requests).toEqual(['GET /global/health - close']);
  });
  test.each([['{}'], ['ok'], ['{"healthy":true}'], ['{"healthy":"true","version":"1"}'], ['[true]'], ['null'], ['']])(
    'any 200 is not enough: %s',
    async (body) => {
      const server = await serve((_, res) => res.end(body));
      expect(await health('opencode', server.endpoint)).toMatchObject({ state: 'unresponsive' });
    },
  );
  test.each([[401], [403]])('A22 %d is alive and locked, not dead', async (status) => {
    const server = await serve((_, res) => res.writeHead(status, { 'www-authenticate': 'Basic realm="x"' }).end());
    for (const kind of ['opencode', 'kilo', 'codex', 't3', 'house']) {
      expect(await health(kind, server.endpoint), kind).toEqual({ state: 'locked' });
    }
  });
  test('the password goes into the Basic header and nowhere else', async () => {
    const server = await serve(good);
    await health('opencode', { ...server.endpoint, credentials: { username: 'opencode', password: 'pa:ss' } });
    expect(server.requests).toEqual([`GET /global/health Basic ${btoa('opencode:pa:ss')} close`]);
  });
  test('codex wants two empty answers, t3 its environment, a custom kind its text', async () => {
    const codex = await serve((_, res) => res.end());
    expect(await health('codex', codex.endpoint)).toEqual({ state: 'ok', version: null });
    expect(codex.requests.map((line) => line.split(' ')[1])).toEqual(['/healthz', '/readyz']);
    const unready = await serve((req, res) => res.writeHead(req.url === '/readyz' ? 503 : 200).end());
    expect(await health('codex', unready.endpoint)).toMatchObject({ state: 'unresponsive' });
    expect(await health('codex', (await serve(good)).endpoint)).toMatchObject({ state: 'unresponsive' });
    const t3 = await serve((_, res) => res.end('{"environmentId":"e","serverVersion":"0.0.42"}'));
    expect(await health('t3', t3.endpoint)).toEqual({ state: 'ok', version: '0.0.42' });
    expect(await health('t3', (await serve(good)).endpoint)).toMatchObject({ state: 'unresponsive' });
    const house = await serve((req, res) => res.end(req.url === '/up' ? 'oh yes' : ''));
    expect(await health('house', house.endpoint)).toEqual({ state: 'ok', version: null });
  });
  test.each([[8], [-1]])('a wall clock that jumps by %d h between two questions changes no deadline', async (hours) => {
    const real = Date.now;
    const server = await serve((req, res) => {
      if (req.url === '/healthz') vi.spyOn(Date, 'now').mockImplementation(() => real() + hours * 3_600_000);
      setTimeout(() => (req.url === '/healthz' || hours > 0) && res.end(), 100);
    });
    try {
      // The second question has what is left of the whole deadline, not an hour more.
      const answer = await health('codex', server.endpoint, hours > 0 ? 60_000 : 1500);
      expect(answer.state).toBe(hours > 0 ? 'ok' : 'unresponsive');
    } finally {
      vi.restoreAllMocks();
    }
  });
  test('helpers are not asked', async () => {
    expect(await health('claude-mcp', endpointAt('127.0.0.1', 1))).toMatchObject({ state: 'unknown' });
  });
});

describe('hostile listeners', () => {
  test('a redirect is not followed', async () => {
    const target = await serve(good);
    const url = `http://127.0.0.1:${target.endpoint.port}/global/health`;
    const server = await serve((_, res) => res.writeHead(302, { location: url }).end());
    expect(await health('opencode', server.endpoint)).toMatchObject({ state: 'unresponsive' });
    expect(target.requests).toEqual([]);
  });
  test('2 MB are not read to the end', async () => {
    let sent = 0;
    const server = await serve((_, res) => {
      const more = (): void => {
        while (sent < 50_000_000 && res.write(' '.repeat(65_536))) sent += 65_536;
        res.once('drain', more);
      };
      more();
    });
    const answer = await health('opencode', server.endpoint, 60_000);
    expect(answer).toEqual({ state: 'unresponsive', why: 'its answer is longer than 1 MB' });
    expect(sent).toBeLessThan(20_000_000);
  });
  test('a slow drip ends at the deadline', async () => {
    let drip: NodeJS.Timeout | undefined;
    const server = await serve((_, res) => {
      drip = setInterval(() => res.write(' '), 50);
    });
    expect(await health('opencode', server.endpoint, 400)).toEqual({
      state: 'unresponsive',
      why: 'no answer within 0.4 s',
    });
    clearInterval(drip);
  });
  test('a listener that never answers, garbage, a hang-up, nothing', async () => {
    const silent = await serve(() => undefined);
    expect(await health('opencode', silent.endpoint, 200)).toMatchObject({ state: 'unresponsive' });
    const rude = await serve((_, res) => res.destroy());
    expect(await health('opencode', rude.endpoint)).toMatchObject({ state: 'unresponsive' });
    const raw = createServer((socket) => socket.resume().end('\u0000\u0001 not http at all\r\n\r\n'));
    await new Promise<void>((resolve) => raw.listen(0, '127.0.0.1', resolve));
    const address = raw.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    expect(await health('opencode', endpointAt('127.0.0.1', port))).toEqual({
      state: 'unresponsive',
      why: 'its answer is not HTTP',
    });
    await new Promise((resolve) => raw.close(resolve));
  });
  test('where nothing listens, that is said', async () => {
    // An address that nobody else uses, so that the freed port is nobody's.
    const address = '127.83.71.19';
    const gone = await fixture(good, address);
    await gone.close();
    expect(await health('opencode', gone.endpoint)).toEqual({
      state: 'unresponsive',
      why: `nothing listens on ${address}:${gone.endpoint.port}`,
    });
  });
});

describe('D18 literal loopback addresses', () => {
  test('D18 a listener on ::1 only is asked there', async () => {
    const server = await serve(good, '::1');
    expect(await health('opencode', server.endpoint)).toMatchObject({ state: 'ok' });
    // The same port of the other family is held by this test, too, lest it belong to somebody.
    const other = await fixture((_, res) => res.destroy(), '127.0.0.1', '127.0.0.1', server.endpoint.port);
    open.push(other);
    expect(await health('opencode', other.endpoint)).toMatchObject({ state: 'unresponsive' });
    expect([server.requests.length, other.requests.length]).toEqual([1, 1]);
  });
  test('D18 a wildcard listener is asked on the loopback of its family', async () => {
    expect(await health('opencode', (await serve(good, '0.0.0.0')).endpoint)).toMatchObject({ state: 'ok' });
    expect(await health('opencode', (await serve(good, '::')).endpoint)).toMatchObject({ state: 'ok' });
  });
  test('D18 nothing else is asked', async () => {
    for (const address of ['192.168.1.5', 'localhost', '8.8.8.8', 'fe80::1', '128.0.0.1', '127.0.0.1.example.org']) {
      expect(loopbackOf(address), address).toBeNull();
      expect(await health('opencode', endpointAt(address, 4096)), address).toMatchObject({ state: 'unknown' });
    }
    expect(loopbackOf('::ffff:127.0.0.1')).toBe('127.0.0.1');
    expect(loopbackUrl('::', 4096)).toBe('http://[::1]:4096/');
    expect(loopbackUrl('0.0.0.0', 4096)).toBe('http://127.0.0.1:4096/');
  });
});
