/** Every shape of the window, drawn on 12 × 12 (`small`) or 16 × 16. Shape first, colour second: each reads in greyscale. */

interface Shape {
  readonly size: 12 | 16;
  /** Filled, or a line of this width. */
  readonly stroke: number | null;
  readonly path: string;
}

const fill = (path: string): Shape => ({ size: 12, stroke: null, path });
const line = (stroke: number, path: string): Shape => ({ size: 12, stroke, path });
const icon = (path: string, stroke = 1.5): Shape => ({ size: 16, stroke, path });

const RING = 'M6 1.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9Zm0 1.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6Z';

const SHAPE_TABLE = {
  // Standings
  supervised: fill('M6 1.75a4.25 4.25 0 1 1 0 8.5 4.25 4.25 0 0 1 0-8.5Z'),
  owned: fill(`${RING}M6 4.25a1.75 1.75 0 1 0 0 3.5 1.75 1.75 0 0 0 0-3.5Z`),
  service: fill('M3.5 2h5A1.5 1.5 0 0 1 10 3.5v5A1.5 1.5 0 0 1 8.5 10h-5A1.5 1.5 0 0 1 2 8.5v-5A1.5 1.5 0 0 1 3.5 2Z'),
  detached: fill(RING),
  suspect: fill('M6 .4 11.6 6 6 11.6.4 6Zm0 2.2L2.6 6 6 9.4 9.4 6Z'),
  leaked: fill('M6 .4 11.6 6 6 11.6.4 6Z'),
  // Sessions
  busy: fill('M3 1.6v8.8a.6.6 0 0 0 .9.5l7-4.4a.6.6 0 0 0 0-1l-7-4.4a.6.6 0 0 0-.9.5Z'),
  waiting: fill('M2.5 2h2.75v8H2.5ZM6.75 2H9.5v8H6.75Z'),
  retrying: line(1.5, 'M10 6.3A4 4 0 1 1 8.9 3.2M9.9 1.2v2.6H7.3'),
  idle: fill('M6 4a2 2 0 1 1 0 4 2 2 0 0 1 0-4Z'),
  ended: fill('M2.5 5.25h7v1.5h-7Z'),
  child: line(1.2, 'M3 1.5v5h6M7.2 4.7 9 6.5 7.2 8.3'),
  // Hosts and work under way
  on: fill('M6 3a3 3 0 1 1 0 6 3 3 0 0 1 0-6Z'),
  off: fill('M6 2.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7ZM6 4a2 2 0 1 0 0 4 2 2 0 0 0 0-4Z'),
  turn: line(1.6, 'M6 1.6A4.4 4.4 0 1 1 1.9 4.4'),
  fault: fill(
    'M6.7 1.1 11.6 10a.8.8 0 0 1-.7 1.2H1.1A.8.8 0 0 1 .4 10l4.9-8.9a.8.8 0 0 1 1.4 0ZM5.3 4.2v3.2h1.4V4.2Zm0 4.1v1.4h1.4V8.3Z',
  ),
  // Verdicts
  same: line(1.5, 'm2.4 6.4 2.4 2.4 4.6-5.4'),
  gone: line(1.5, 'M6 1.8a4.2 4.2 0 1 1 0 8.4 4.2 4.2 0 0 1 0-8.4ZM3.2 8.8l5.6-5.6'),
  reused: line(1.5, 'M1.5 4h8.2M7.5 1.8 9.8 4 7.5 6.2M10.5 8H2.3m2.2-2.2L2.3 8l2.2 2.2'),
  thread: line(1.5, 'M3.2 1.5v9M3.2 6.8c3.4 0 5.3-1.2 5.3-4.8M7.9 2a.6.6 0 1 0 1.2 0 .6.6 0 0 0-1.2 0'),
  foreign: line(1.5, 'M2 4.4h8M2 7.6h8M8.3 1.8l-4.6 8.4'),
  unknown: line(1.6, 'M3.6 3.9C3.6 2.5 4.6 1.6 6 1.6s2.4.9 2.4 2.1C8.4 5.3 6 5.3 6 7.2M6 10.2v.01'),
  // Icons
  plus: icon('M8 3.5v9M3.5 8h9'),
  search: icon('M11.25 7a4.25 4.25 0 1 1-8.5 0 4.25 4.25 0 0 1 8.5 0ZM10.25 10.25l3 3'),
  sliders: icon(
    'M2.5 5h5.25M11.75 5h1.75M2.5 11h1.75M8.25 11h5.25M11.65 5a1.9 1.9 0 1 1-3.8 0 1.9 1.9 0 0 1 3.8 0ZM8.15 11a1.9 1.9 0 1 1-3.8 0 1.9 1.9 0 0 1 3.8 0Z',
  ),
  more: icon('M3.5 8h.01M8 8h.01M12.5 8h.01', 2.2),
  check: icon('m3.5 8.5 3 3 6-7'),
  cross: icon('m4 4 8 8M12 4l-8 8', 2),
  ask: icon('M5.5 6C5.5 4.3 6.6 3.25 8.1 3.25s2.6 1 2.6 2.45C10.7 7.5 8 7.7 8 9.75M8 12.75v.01', 2),
  dash: icon('M4.5 8h7'),
  dot: icon('M8 8h.01', 3),
  computer: icon('M3.75 3h8.5a1 1 0 0 1 1 1v5.25a1 1 0 0 1-1 1h-8.5a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1ZM1.5 13h13'),
  all: icon('M6.5 3.5h7M6.5 8h7M6.5 12.5h7M2.75 3.5h.01M2.75 8h.01M2.75 12.5h.01', 1.8),
  clock: icon('M8 2.25a5.75 5.75 0 1 1 0 11.5 5.75 5.75 0 0 1 0-11.5ZM8 5v3.25l2.25 1.5'),
  signal: icon('M8 2.5v7M4.75 6.5 8 9.75l3.25-3.25M3 13h10'),
  shield: icon('M8 2 3.25 3.75v3.75c0 3 2 5.25 4.75 6.5 2.75-1.25 4.75-3.5 4.75-6.5V3.75Z'),
  play: icon('M5 3.25v9.5L12.5 8Z'),
  stop: icon('M5 4h6a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1Z'),
  link: icon(
    'M6.75 9.25 9.25 6.75M7.5 5 9 3.5a2.475 2.475 0 0 1 3.5 3.5L11 8.5M8.5 11 7 12.5A2.475 2.475 0 0 1 3.5 9L5 7.5',
  ),
  file: icon('M4 2.5h5L12 5.5v8H4ZM8.75 2.75v3h3'),
} as const satisfies Record<string, Shape>;

export type GlyphName = keyof typeof SHAPE_TABLE;
export const SHAPES: Readonly<Record<GlyphName, Shape>> = SHAPE_TABLE;
