import type { ClientRequest, IncomingMessage } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { createBusyState } from './busy-state.ts';
import { causeOf, loopbackOf, open } from './http.ts';
import type { Busyness, BusyWatch, Endpoint } from './kind.ts';
import { createSseParser } from './sse.ts';

/** Longest event that is looked at, in characters. */
const EVENT_MAX = 1_000_000;

export interface StreamTiming {
  /** Without a byte for this long the connection counts as dead. The server sends a heartbeat every 10 s. */
  readonly silenceMs: number;
  /** First wait before a new attempt; doubles up to `retryMaxMs`. */
  readonly retryMs: number;
  readonly retryMaxMs: number;
}

const TIMING: StreamTiming = { silenceMs: 30_000, retryMs: 500, retryMaxMs: 30_000 };

type Phase =
  | { readonly phase: 'opening' }
  | { readonly phase: 'open' }
  | { readonly phase: 'down'; readonly why: string };

function seconds(fromMs: number, now: number): string {
  return `${Math.max(0, Math.floor((now - fromMs) / 1000))} s`;
}

/**
 * Follows a server's global event stream and tells whether a session is busy. Passive: `/global/event` creates nothing
 * in the server. Reconnects with a growing wait until it is closed; its timers keep no process alive.
 *
 * @param onChange fires when the reading changes: busy, not busy, unknown, or other sessions
 */
export function followEvents(
  endpoint: Endpoint,
  path: string,
  onChange: () => void,
  timing: StreamTiming = TIMING,
): BusyWatch {
  const state = createBusyState();
  let phase: Phase = { phase: 'opening' };
  let openedAt: number | null = null;
  let signAt: number | null = null;
  let waitMs = timing.retryMs;
  let request: ClientRequest | null = null;
  let silence: NodeJS.Timeout | undefined;
  let retry: NodeJS.Timeout | undefined;
  let fading: NodeJS.Timeout | undefined;
  let closed = false;
  let told = '';

  const tell = (): void => {
    if (closed) return;
    const busy = phase.phase === 'open' ? state.busy(Date.now()) : [];
    const now = `${phase.phase === 'down' ? phase.why : phase.phase}\n${busy.join('\n')}`;
    if (now === told) return;
    told = now;
    // A sign that only fades (no further event) must be noticed, too.
    clearInterval(fading);
    if (busy.length > 0) fading = setInterval(tell, 1000).unref();
    onChange();
  };

  const stop = (): void => {
    clearTimeout(silence);
    const old = request;
    request = null;
    old?.destroy();
  };

  const fail = (why: string): void => {
    if (closed) return;
    stop();
    state.forget();
    phase = { phase: 'down', why };
    clearTimeout(retry);
    retry = setTimeout(connect, waitMs).unref();
    waitMs = Math.min(waitMs * 2, timing.retryMaxMs);
    tell();
  };

  const listen = (): void => {
    clearTimeout(silence);
    silence = setTimeout(() => fail('its event stream fell silent'), timing.silenceMs).unref();
  };

  const accept = (response: IncomingMessage): void => {
    const status = response.statusCode ?? 0;
    if (status === 401 || status === 403) {
      waitMs = timing.retryMaxMs;
      fail('its event stream is locked behind a password');
      return;
    }
    if (status !== 200 || !(response.headers['content-type'] ?? '').startsWith('text/event-stream')) {
      fail(`it offers no event stream (status ${status})`);
      return;
    }
    phase = { phase: 'open' };
    openedAt = Date.now();
    const decoder = new StringDecoder('utf8');
    const parser = createSseParser((data) => {
      let event: unknown;
      try {
        event = JSON.parse(data);
      } catch {
        // Garbage on the stream says nothing about sessions; the next event may be whole again.
        return;
      }
      if (state.take(event, Date.now())) signAt = Date.now();
      // Only a stream that carries events is worth a quick reconnect.
      waitMs = timing.retryMs;
      tell();
    }, EVENT_MAX);
    response.on('data', (chunk: Buffer) => {
      listen();
      parser.feed(decoder.write(chunk));
    });
    tell();
  };

  const connect = (): void => {
    const loopback = loopbackOf(endpoint.address);
    if (loopback === null) {
      phase = { phase: 'down', why: `it listens on ${endpoint.address} only, and only loopback addresses are asked` };
      tell();
      return;
    }
    const mine = open(endpoint, loopback, 'GET', path, 'text/event-stream');
    request = mine;
    const broke = (why: string): void => {
      if (request === mine) fail(why);
    };
    listen();
    mine.on('error', (error) => broke(causeOf(error, endpoint)));
    mine.on('response', (response) => {
      response.on('error', (error) => broke(causeOf(error, endpoint)));
      response.on('end', () => broke('its event stream ended'));
      if (request === mine) accept(response);
    });
    mine.on('socket', (socket) => socket.unref());
    mine.end();
  };

  connect();

  return {
    reading(): Busyness {
      if (phase.phase === 'opening') return { busy: 'unknown', why: 'its event stream is not open yet' };
      if (phase.phase === 'down') return { busy: 'unknown', why: phase.why };
      const now = Date.now();
      const busy = state.busy(now);
      if (busy.length === 1) return { busy: true, sign: `session “${busy[0]}” is busy` };
      if (busy.length > 1) return { busy: true, sign: `${busy.length} sessions are busy, “${busy[0]}” among them` };
      const since = Math.max(signAt ?? 0, openedAt ?? now);
      return {
        busy: false,
        sign:
          signAt === null
            ? `no session became busy in the ${seconds(since, now)} watched`
            : `event stream silent for ${seconds(since, now)}`,
      };
    },
    lastSign: () => signAt ?? openedAt,
    close() {
      closed = true;
      clearTimeout(retry);
      clearInterval(fading);
      stop();
    },
  };
}
