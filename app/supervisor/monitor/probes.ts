/**
 * Health and event streams of the servers in the roll: asked rarely, passively, with deadlines, and dropped when a
 * server leaves. Health is not identity: nothing here decides what a process is.
 */
import { identityKey, type ProcessIdentity } from '../../identity/identity.ts';
import type { Endpoint, Health, Kind, ServerWatch, SessionReading } from '../../servers/kind.ts';
import { NOT_LISTED } from '../../servers/session-feed/session-state.ts';
import { SPANS } from '../spans.ts';
import type { StreamFact } from '../standing/busyness.ts';

/** Between two questions to a server that has not answered well yet, in milliseconds. */
const HEALTH_RETRY_MS = 2000;
/** A healthy opencode answers within 30 ms (measured); this long means that it does not respond. */
export const HEALTH_DEADLINE_MS = 2000;
/** Streams followed at once for servers whose standing does not hang on them. */
const STREAMS = 256;

/** A password goes only to a listener that a look of this age, in milliseconds, has proved. */
const PROVED_MS = 3000;
/** A look takes no longer, in milliseconds: what came this much later began later. */
const LOOK_MS = 1000;

interface Probe {
  health: Health;
  askedAt: number;
  asking: Promise<void> | null;
  watch: ServerWatch | null;
  /** What the stream last said of busyness, so that news of sessions alone is told apart. */
  told: string;
  /** The listener it was opened to; another one at the same server needs another stream. */
  place: string;
}

export interface Probed {
  readonly key: string;
  readonly kind: Kind;
  readonly endpoint: Endpoint;
  /** `must` where a standing hangs on the stream, `may` where it only tells what a server does. */
  readonly follow: 'must' | 'may' | 'no';
}

export class Probes {
  readonly #probes = new Map<string, Probe>();
  readonly #onChange: () => void;
  readonly #onSessions: () => void;
  readonly #everyMs: number;

  /**
   * @param onChange a health or a busy reading has changed
   * @param onSessions only what is known of sessions has
   * @param everyMs between two questions to a server that answers well, in milliseconds
   */
  constructor(onChange: () => void, onSessions: () => void, everyMs = SPANS.healthEveryMs) {
    this.#onChange = onChange;
    this.#onSessions = onSessions;
    this.#everyMs = everyMs;
  }

  /**
   * Drops what is gone, asks what is due, follows what is to be followed. Does not wait.
   *
   * @param now milliseconds on the monotonic clock
   * @param lookedAt when the look came that has proved these servers, on the same clock
   */
  update(servers: readonly Probed[], now: number, lookedAt: number): void {
    const present = new Set(servers.map(({ key }) => key));
    for (const [key, probe] of this.#probes) {
      if (present.has(key)) continue;
      probe.watch?.close();
      this.#probes.delete(key);
    }
    for (const server of servers) this.#updateOne(server, now, lookedAt);
  }

  #updateOne({ key, kind, endpoint, follow }: Probed, now: number, lookedAt: number): void {
    // With a password it is asked anew.
    const place = `${endpoint.address} ${endpoint.port} ${endpoint.credentials === null ? 'open' : 'locked'}`;
    let probe = this.#probes.get(key);
    if (probe === undefined || probe.place !== place) {
      probe?.watch?.close();
      probe = {
        health: { state: 'unknown', why: 'it has not been asked yet' },
        askedAt: Number.NEGATIVE_INFINITY,
        asking: null,
        watch: null,
        told: '',
        place,
      };
      this.#probes.set(key, probe);
    }
    const { state: was } = probe.health;
    const every = was === 'ok' || was === 'locked' ? this.#everyMs : Math.min(HEALTH_RETRY_MS, this.#everyMs);
    const mayAsk = endpoint.credentials === null || now - lookedAt <= PROVED_MS;
    if (mayAsk && probe.asking === null && now - probe.askedAt >= every) {
      probe.askedAt = now;
      const asked = probe;
      asked.asking = kind.health(endpoint, HEALTH_DEADLINE_MS).then((health) => {
        const changed = health.state !== asked.health.state;
        asked.health = health;
        asked.asking = null;
        // Opened with the news, so that no judgement sees a healthy server without its stream.
        if (this.#probes.get(key) === asked)
          this.#updateOne({ key, kind, endpoint, follow }, performance.now(), lookedAt);
        if (changed) this.#onChange();
      });
    }
    const brokeAt = probe.watch?.brokeAt() ?? null;
    // The look began after that: it saw who listens there now.
    if (brokeAt !== null && mayAsk && lookedAt - brokeAt > LOOK_MS) {
      probe.watch?.close();
      probe.watch = null;
    }
    // One that is slow for a moment keeps its stream, which notices its own end; only a new one waits for an answer.
    const { state } = probe.health;
    const wanted = follow !== 'no' && kind.watch !== null;
    if (!wanted || (state !== 'ok' && (state !== 'unresponsive' || probe.watch === null))) {
      probe.watch?.close();
      probe.watch = null;
    } else if (
      mayAsk &&
      probe.watch === null &&
      kind.watch !== null &&
      (follow === 'must' || this.#streams() < STREAMS)
    ) {
      const watched = probe;
      probe.watch = kind.watch(endpoint, () => this.#onWatch(watched));
    }
  }

  #onWatch(probe: Probe): void {
    const reading = probe.watch?.reading() ?? null;
    // The words of an idle reading count seconds: they are no news.
    const told =
      reading === null ? '' : reading.busy === true ? reading.sign : reading.busy === false ? 'idle' : reading.why;
    if (told === probe.told) this.#onSessions();
    else {
      probe.told = told;
      this.#onChange();
    }
  }

  #streams(): number {
    let count = 0;
    for (const { watch } of this.#probes.values()) if (watch !== null) count += 1;
    return count;
  }

  health(identity: ProcessIdentity): Health {
    return this.#probes.get(identityKey(identity))?.health ?? { state: 'unknown', why: 'it opens no port to ask at' };
  }

  stream(identity: ProcessIdentity): StreamFact | null {
    const watch = this.#probes.get(identityKey(identity))?.watch ?? null;
    return watch === null ? null : { reading: watch.reading(), lastSign: watch.lastSign() };
  }

  /** What its server tells of its sessions; null while it is not followed. */
  sessions(identity: ProcessIdentity): SessionReading | null {
    return this.#probes.get(identityKey(identity))?.watch?.sessions() ?? null;
  }

  /** Something of a server works in these folders, by other signs than its events. */
  worksIn(identity: ProcessIdentity, folders: readonly string[]): void {
    this.#probes.get(identityKey(identity))?.watch?.worksIn(folders);
  }

  /** Whether every server has answered, or has not in time, and what is followed has told of its sessions or why it does not. */
  get allTold(): boolean {
    return [...this.#probes.values()].every(
      ({ asking, watch }) => asking === null && watch?.sessions().why !== NOT_LISTED,
    );
  }

  /** Resolves when every question that is under way has been answered. */
  async settled(): Promise<void> {
    await Promise.all([...this.#probes.values()].map(({ asking }) => asking));
  }

  close(): void {
    for (const { watch } of this.#probes.values()) watch?.close();
    this.#probes.clear();
  }
}
