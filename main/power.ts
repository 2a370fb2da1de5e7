/** Noticing that the machine slept: the system's own event comes late or never on some desktops, so clocks are compared, too. */

import { networkInterfaces } from 'node:os';

/** Wall time that ran on while the monotonic clock stood: beyond this the machine slept (or its clock was set). */
export const SLEEP_GAP_MS = 10_000;
const TICK_MS = 5_000;
/** Event and clocks tell of the same wake-up within this. */
const SAME_WAKE_MS = 15_000;

export interface Clocks {
  /** Milliseconds since the epoch. */
  wall(): number;
  /** Milliseconds of a clock that stands while the machine sleeps. */
  monotonic(): number;
}

const systemClocks: Clocks = { wall: () => Date.now(), monotonic: () => performance.now() };

/** Compares both clocks at every `check`. */
export class SleepGap {
  readonly #clocks: Clocks;
  #wall: number;
  #monotonic: number;

  constructor(clocks: Clocks = systemClocks) {
    this.#clocks = clocks;
    this.#wall = clocks.wall();
    this.#monotonic = clocks.monotonic();
  }

  /** True when the machine slept since the last check. */
  check(): boolean {
    const wall = this.#clocks.wall();
    const monotonic = this.#clocks.monotonic();
    const gap = wall - this.#wall - (monotonic - this.#monotonic);
    this.#wall = wall;
    this.#monotonic = monotonic;
    return gap > SLEEP_GAP_MS;
  }
}

/** Addresses of this machine as one text, to be compared. */
export function networkNow(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each?.map(({ cidr }) => cidr) ?? []);
  return addresses.sort().join(' ');
}

/**
 * Calls back when the machine's addresses have changed: another network, a VPN that came or went. Electron tells the
 * main process nothing of it.
 *
 * @returns the end of the watch
 */
export function watchNetwork(onChange: () => void, read: () => string = networkNow): () => void {
  let known = read();
  const timer = setInterval(() => {
    const now = read();
    if (now === known) return;
    known = now;
    onChange();
  }, TICK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * Calls back once for each wake-up.
 *
 * @param monitor Electron's `powerMonitor`
 * @returns the end of the watch
 */
export function watchResume(
  monitor: {
    on(event: 'resume', listener: () => void): unknown;
    removeListener(event: 'resume', listener: () => void): unknown;
  },
  onResume: () => void,
  clocks: Clocks = systemClocks,
): () => void {
  const gap = new SleepGap(clocks);
  let told = Number.NEGATIVE_INFINITY;
  const tell = (): void => {
    if (clocks.wall() - told < SAME_WAKE_MS) return;
    told = clocks.wall();
    onResume();
  };
  const timer = setInterval(() => {
    if (gap.check()) tell();
  }, TICK_MS);
  timer.unref();
  monitor.on('resume', tell);
  return () => {
    clearInterval(timer);
    monitor.removeListener('resume', tell);
  };
}
