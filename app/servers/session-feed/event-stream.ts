import type { ClientRequest, IncomingMessage } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { createParser, type EventSourceMessage, type ParseError } from 'eventsource-parser';
import { causeOf, loopbackOf, open } from '../client/http.ts';
import type { Busyness, Endpoint, ServerWatch } from '../kind.ts';
import { createBusyState } from './busy-state.ts';

/** Longest event that is looked at, in characters. */
const EVENT_MAX = 1_000_000;
/** How often it is noticed that a sign has faded, in milliseconds. */
const FADE_MS = 1000;

export interface StreamTiming {
  /** Without a byte for this long the connection counts as dead. The server sends a heartbeat every 10 s. */
  readonly silenceMs: number;
  /** First wait before a new attempt; doubles up to `retryMaxMs`. */
  readonly retryMs: number;
  readonly retryMaxMs: number;
  /**
   * How long after a reconnect a session that was busy before, and has sent nothing yet, leaves the reading unknown. Its
   * end may have gone by unseen, so the doubt cannot last for ever.
   */
  readonly doubtMs: number;
}

export const TIMING: StreamTiming = { silenceMs: 30_000, retryMs: 500, retryMaxMs: 30_000, doubtMs: 60_000 };

/** Who else listens to the stream. Nothing here may throw. */
export interface StreamListener {
  opened(): void;
  /** A parsed event, whatever it is. @param now on the monotonic clock */
  event(event: unknown, now: number): void;
  /** @param why a clause about the server */
  broke(why: string): void;
}

/** A followed event stream, as far as busyness goes. */
export type EventStream = Pick<ServerWatch, 'reading' | 'lastSign' | 'brokeAt' | 'close'>;

type Phase =
  | { readonly phase: 'opening' }
  /** Both times are of this connection and on the monotonic clock; no sign has come while `signAt` is null. */
  | { readonly phase: 'open'; readonly openedAt: number; readonly signAt: number | null }
  | { readonly phase: 'down'; readonly why: string };

function seconds(fromMs: number, now: number): string {
  return `${Math.max(0, Math.floor((now - fromMs) / 1000))} s`;
}

/**
 * Follows a server's global event stream and tells whether a session is busy. Passive: `/global/event` creates nothing
 * in the server. Reconnects with a growing wait until it is closed, but never with a password; its timers keep no process
 * alive. Every time here is on the monotonic clock: a step of the wall clock or a suspended machine is neither silence
 * nor a sign.
 *
 * @param onChange fires when the reading changes: busy, not busy, unknown, or other sessions
 * @param listener is told of the same stream, before `onChange`
 */
export function followEvents(
  endpoint: Endpoint,
  path: string,
  onChange: () => void,
  timing: StreamTiming = TIMING,
  listener: StreamListener | null = null,
): EventStream {
  const state = createBusyState();
  let phase: Phase = { phase: 'opening' };
  let waitMs = timing.retryMs;
  let request: ClientRequest | null = null;
  let silence: NodeJS.Timeout | undefined;
  let retry: NodeJS.Timeout | undefined;
  let fading: NodeJS.Timeout | undefined;
  let soon = false;
  let closed = false;
  let brokeAt: number | null = null;
  let told = '';

  const doubtful = (now: number): readonly string[] =>
    phase.phase === 'open' && now - phase.openedAt < timing.doubtMs ? state.doubtful() : [];

  const tell = (): void => {
    if (closed) return;
    const now = performance.now();
    const busy = phase.phase === 'open' ? state.busy(now) : [];
    const doubt = doubtful(now);
    const news = [phase.phase === 'down' ? phase.why : phase.phase, ...busy, '', ...doubt].join('\n');
    if (news === told) return;
    told = news;
    // What only fades (no further event) must be noticed, too.
    clearInterval(fading);
    if (busy.length > 0 || doubt.length > 0) fading = setInterval(tell, FADE_MS).unref();
    onChange();
  };

  /** Once for all that has come: thousands of events may come in a second, each in a chunk of its own. */
  const tellSoon = (): void => {
    if (soon) return;
    soon = true;
    setImmediate(() => {
      soon = false;
      tell();
    });
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
    listener?.broke(why);
    clearTimeout(retry);
    if (endpoint.credentials === null) retry = setTimeout(connect, waitMs).unref();
    else brokeAt = performance.now();
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
    const openedAt = performance.now();
    phase = { phase: 'open', openedAt, signAt: null };
    listener?.opened();
    const decoder = new StringDecoder('utf8');
    let tooLong = false;
    const onEvent = ({ data }: EventSourceMessage): void => {
      let event: unknown;
      try {
        event = JSON.parse(data);
      } catch {
        // Garbage on the stream says nothing about sessions; the next event may be whole again.
        return;
      }
      const now = performance.now();
      if (state.take(event, now)) phase = { phase: 'open', openedAt, signAt: now };
      listener?.event(event, now);
      // Only a stream that carries events is worth a quick reconnect.
      waitMs = timing.retryMs;
      tellSoon();
    };
    const onError = ({ type }: ParseError): void => {
      tooLong ||= type === 'max-buffer-size-exceeded';
    };
    const parser = createParser({ onEvent, onError, maxBufferSize: EVENT_MAX });
    response.on('data', (chunk: Buffer) => {
      listen();
      parser.feed(decoder.write(chunk));
      // What is left of an event that is too long reads as garbage, which is passed over.
      if (tooLong) parser.reset();
      tooLong = false;
    });
    tell();
  };

  const connect = (): void => {
    if (loopbackOf(endpoint.address) === null) {
      const why = `it listens on ${endpoint.address} only, and only loopback addresses are asked`;
      phase = { phase: 'down', why };
      listener?.broke(why);
      tell();
      return;
    }
    const mine = open(endpoint, 'GET', path, 'text/event-stream');
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
      const now = performance.now();
      const busy = state.busy(now);
      if (busy.length === 1) return { busy: true, sign: `session “${busy[0]}” is busy` };
      if (busy.length > 1) return { busy: true, sign: `${busy.length} sessions are busy, “${busy[0]}” among them` };
      const [doubt] = doubtful(now);
      if (doubt !== undefined) {
        return {
          busy: 'unknown',
          why: `session “${doubt}” was busy before its event stream broke, and is silent since`,
        };
      }
      const { openedAt, signAt } = phase;
      return {
        busy: false,
        sign:
          signAt === null
            ? `no session became busy in the ${seconds(openedAt, now)} watched`
            : `event stream silent for ${seconds(signAt, now)}`,
      };
    },
    lastSign: () => (phase.phase === 'open' ? (phase.signAt ?? phase.openedAt) : null),
    brokeAt: () => brokeAt,
    close() {
      closed = true;
      clearTimeout(retry);
      clearInterval(fading);
      stop();
    },
  };
}
