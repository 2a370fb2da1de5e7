import type { AuditEntry, Roll } from '../../app/roll/schema.ts';
import { isChosen, type TimelineChoice } from '../../app/text/timeline-words.ts';
import type { GlyphName } from './shapes.ts';

export interface DayItem {
  readonly type: 'group';
  readonly key: string;
  readonly title: string;
  readonly note: string;
  readonly figure: string;
}
export interface EntryItem {
  readonly type: 'entry';
  readonly key: string;
  readonly entry: AuditEntry;
}
export type TimelineItem = DayItem | EntryItem;

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const;

function dayWords(at: Date, now: number): { readonly title: string; readonly note: string } {
  const date = `${WEEKDAYS[at.getDay()] ?? ''} ${at.getDate()} ${MONTHS[at.getMonth()] ?? ''}`;
  const yesterday = new Date(now);
  yesterday.setDate(yesterday.getDate() - 1);
  if (at.toDateString() === new Date(now).toDateString()) return { title: 'Today', note: date };
  if (at.toDateString() === yesterday.toDateString()) return { title: 'Yesterday', note: date };
  return { title: date, note: '' };
}

/** The entries, newest first, under a head per day of local time. */
export function timelineItems(
  roll: Pick<Roll, 'timeline'>,
  choice: TimelineChoice,
  now: number,
): readonly TimelineItem[] {
  const items: TimelineItem[] = [];
  const seen = new Map<string, number>();
  // Keys are numbered from the oldest on, so that a new entry changes no other's key.
  const keyed = [...roll.timeline]
    .sort((a, b) => a.at.localeCompare(b.at))
    .map((entry) => {
      const text = `${entry.at} ${entry.event} ${entry.pid ?? ''} ${entry.text}`;
      const count = (seen.get(text) ?? 0) + 1;
      seen.set(text, count);
      return { entry, key: `${text} ${count}` };
    })
    .filter(({ entry }) => isChosen(entry, choice))
    .reverse();
  let day = '';
  for (const { entry, key } of keyed) {
    const at = new Date(entry.at);
    if (at.toDateString() !== day) {
      day = at.toDateString();
      items.push({ type: 'group', key: `day ${day}`, figure: '', ...dayWords(at, now) });
    }
    items.push({ type: 'entry', key, entry });
  }
  return items;
}

/** Words in an event's name, and the shape that stands for it; the first that occurs decides. */
const EVENT_SHAPES: readonly (readonly [RegExp, GlyphName])[] = [
  [/session-idle/u, 'idle'],
  [/session-ended/u, 'ended'],
  [/session-aborted/u, 'stop'],
  [/idle-soon/u, 'clock'],
  [/refus|guard|foreign/u, 'shield'],
  [/fail|crash|unexpected|surviv|came-back|problem/u, 'fault'],
  [/leak/u, 'leaked'],
  [/signal|intent|term|kill|dispose/u, 'signal'],
  [/record|clear|aside|corrupt/u, 'file'],
  [/adopt|gone|reap|outcome|done/u, 'check'],
  [/restart|start|ready|spawn/u, 'play'],
  [/stop|quit|end|exit/u, 'stop'],
  [/connect/u, 'link'],
];

export function eventShape(event: string): GlyphName {
  return EVENT_SHAPES.find(([pattern]) => pattern.test(event.toLowerCase()))?.[1] ?? 'dot';
}

/** What a line says after its subject: many a text is a sentence that begins with it. */
export function afterSubject({ subject, text }: AuditEntry): string {
  return text.startsWith(subject) && text !== subject ? text.slice(subject.length) : `, ${text}`;
}

/** A time of day in local time, as the timeline's first column shows it: `14:31:20`. */
export function timeOfDay(iso: string): string {
  const at = new Date(iso);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
}
