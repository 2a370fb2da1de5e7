import fc from 'fast-check';
import { expect, test } from 'vitest';
import { judgeClaude, parseClaude } from './claude.ts';
import { judgeEntire, judgePointer, parseEntire, parseEntirePointer } from './entire.ts';
import {
  ABSENT,
  claudeFile,
  entireFile,
  PID,
  PLACE,
  pointerFile,
  running,
  SESSION,
  STARTED,
} from './fixtures.testing.ts';
import type { ForeignSession } from './session.ts';

/** One good file with any of its fields, those of the owner too, replaced by anything. */
function spoilt(good: string): fc.Arbitrary<string> {
  const fields = JSON.parse(good) as Record<string, unknown>;
  const owner = typeof fields['owner'] === 'object' && fields['owner'] !== null ? Object.keys(fields['owner']) : [];
  const value = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), fc.double(), fc.constant('x'.repeat(5000)));
  const name = fc.constantFrom(...Object.keys(fields), ...owner.map((key) => `owner.${key}`));
  return fc.array(fc.tuple(name, value), { minLength: 1, maxLength: 4 }).map((changes) => {
    const made = structuredClone(fields);
    for (const [key, to] of changes) {
      const [outer, inner] = key.split('.');
      const inside = inner === undefined ? made : made[outer ?? ''];
      if (typeof inside === 'object' && inside !== null) Object.assign(inside, { [inner ?? key]: to });
    }
    return JSON.stringify(made);
  });
}

const texts = (good: string) =>
  fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    spoilt(good),
    fc.nat(good.length).map((end) => good.slice(0, end)),
  );

function holds(session: ForeignSession | null): void {
  if (session === null) return;
  expect(session.id).toMatch(/^[A-Za-z0-9][\w.:-]*$/u);
  expect(session.title).not.toMatch(/\p{Cc}/u);
  // A state that claims life has a process that proves it.
  const alive = ['busy', 'waiting', 'idle'].includes(session.state);
  expect(alive ? session.identity !== null : true).toBe(true);
  for (const time of [session.startedAt, session.updatedAt]) {
    if (time !== null) expect(Number.isNaN(new Date(time).getTime())).toBe(false);
  }
}

test('no file of Claude makes the parser throw, or say more than a process proves', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(`${PID}.json`, `pid-${PID}.json`),
      texts(claudeFile()),
      fc.boolean(),
      (name, text, there) => {
        const record = parseClaude(name, text);
        if (record !== null) holds(judgeClaude(record, '/p', there ? running() : ABSENT, PLACE));
      },
    ),
    { numRuns: 500 },
  );
});

test('no file of entire makes the parsers throw, or say more than a process proves', () => {
  const name = `${SESSION}.json`;
  fc.assert(
    fc.property(fc.oneof(texts(entireFile()), texts(pointerFile())), fc.boolean(), (text, there) => {
      const record = parseEntire(name, text);
      if (record !== null) holds(judgeEntire(record, '/p', there ? running() : ABSENT, PLACE, STARTED));
      const pointer = parseEntirePointer(name, text);
      if (pointer !== null) holds(judgePointer(pointer, '/p', STARTED));
    }),
    { numRuns: 500 },
  );
});
