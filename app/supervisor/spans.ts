/** How long the supervisor watches before it judges, and how long it takes to end something; tests have shorter ones. */
export interface Spans {
  /** How long an event stream must have been silent before silence means idle, in milliseconds. */
  readonly silenceMs: number;
  /** CPU must have been low for this long where nothing better can be known, in milliseconds. */
  readonly cpuWindowMs: number;
  /** Between two questions to a server that answers well, in milliseconds. */
  readonly healthEveryMs: number;
  /** In how many milliseconds an ending that somebody asked for should be over; null for as long as its kind takes. */
  readonly endingMs: number | null;
}

export const SPANS: Spans = { silenceMs: 5000, cpuWindowMs: 4000, healthEveryMs: 10_000, endingMs: null };
