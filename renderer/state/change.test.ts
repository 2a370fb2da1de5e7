import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyChange, RollSender, rollChangeSchema } from '../../app/roll/change.ts';
import type { Roll } from '../../app/roll/schema.ts';
import { exampleRoll } from '../preview/rolls.ts';

/** As it is after the wire: checked and copied. */
const wired = (change: ReturnType<RollSender['changeTo']>) => rollChangeSchema.parse(structuredClone(change));

function later(roll: Roll, change: (next: Roll) => void): Roll {
  const next = structuredClone(roll);
  next.version += 1;
  next.takenAt = new Date(Date.parse(roll.takenAt) + 2_000).toISOString();
  change(next);
  return next;
}

test('the first roll goes whole, then only what differs', () => {
  const sender = new RollSender();
  const first = exampleRoll();
  expect(sender.changeTo(first)).toEqual({ type: 'whole', roll: first });
  const second = later(first, (next) => {
    const server = next.servers[3];
    if (server !== undefined) server.cpuPercent = 99.9;
  });
  const change = sender.changeTo(second);
  expect(change).toMatchObject({ type: 'parts', base: { version: 41 }, to: { version: 42 } });
  if (change.type !== 'parts') throw new Error('expected parts');
  expect(Object.keys(change.parts).sort()).toEqual(['takenAt', 'version']);
  expect(change.servers?.changed).toEqual([second.servers[3]]);
  // Nothing of the servers is sent where none differs.
  const third = sender.changeTo(later(second, () => undefined));
  expect(third).toMatchObject({ servers: null });
});

/** Five thousand sessions over a hundred servers. */
function crowdedRoll(): Roll {
  const roll = exampleRoll();
  const [server] = roll.servers;
  const [session] = roll.sessions;
  if (server === undefined || session === undefined) throw new Error('the example is empty');
  const id = (n: number): string => n.toString(16).padStart(16, '0');
  return {
    ...roll,
    servers: Array.from({ length: 100 }, (_, n) => ({ ...server, id: id(n) })),
    sessions: Array.from({ length: 5000 }, (_, n) => ({ ...session, key: id(n), id: `ses_${n}`, server: id(n % 100) })),
  };
}

test('of five thousand sessions the one that changed is sent, and is the only new object', () => {
  const sender = new RollSender();
  const first = crowdedRoll();
  const shown = applyChange(null, wired(sender.changeTo(first)));
  const second = later(first, (next) => {
    const session = next.sessions[2500];
    if (session !== undefined) session.state = 'waiting';
  });
  const change = wired(sender.changeTo(second));
  expect(change).toMatchObject({ servers: null, sessions: { ids: null, changed: [second.sessions[2500]] } });
  const after = applyChange(shown, change);
  expect(after).toEqual(second);
  expect(after?.sessions.flatMap((session, n) => (session === shown?.sessions[n] ? [] : [n]))).toEqual([2500]);
  expect(after?.servers).toBe(shown?.servers);
});

test('what did not change keeps its object', () => {
  const sender = new RollSender();
  const shown = applyChange(null, wired(sender.changeTo(exampleRoll())));
  const next = later(exampleRoll(), (roll) => {
    roll.servers.reverse();
    const server = roll.servers[0];
    if (server !== undefined) server.memoryBytes += 1;
  });
  const after = applyChange(shown, wired(sender.changeTo(next)));
  expect(after).toEqual(next);
  expect(after?.servers.at(-1)).toBe(shown?.servers[0]);
  expect(after?.servers[0]?.checks).toBe(shown?.servers.at(-1)?.checks);
  expect(after?.records).toBe(shown?.records);
});

test('a change from another roll is not applied; one that was already answered changes nothing', () => {
  const sender = new RollSender();
  const first = exampleRoll();
  const second = later(first, (next) => next.servers.pop());
  const third = later(second, (next) => next.servers.pop());
  sender.changeTo(first);
  const toSecond = wired(sender.changeTo(second));
  const toThird = wired(sender.changeTo(third));
  expect(applyChange(null, toSecond)).toBeNull();
  expect(applyChange(first, toThird)).toBeNull();
  expect(applyChange(second, toSecond)).toBe(second);
  expect(applyChange(second, toThird)).toEqual(third);
  // A restarted app counts from one again.
  expect(applyChange({ ...second, takenAt: first.takenAt }, toThird)).toBeNull();
});

test('a page that starts anew is sent everything', () => {
  const sender = new RollSender();
  sender.changeTo(exampleRoll());
  sender.forget();
  expect(sender.changeTo(exampleRoll()).type).toBe('whole');
});

test('a change with anything that the schema does not know is refused', () => {
  const sender = new RollSender();
  sender.changeTo(exampleRoll());
  const change = sender.changeTo(later(exampleRoll(), (next) => next.servers.pop()));
  expect(rollChangeSchema.safeParse(change).success).toBe(true);
  expect(rollChangeSchema.safeParse({ ...change, extra: 1 }).success).toBe(false);
  if (change.type !== 'parts') throw new Error('expected parts');
  expect(rollChangeSchema.safeParse({ ...change, parts: { ...change.parts, hosts: [{}] } }).success).toBe(false);
  expect(rollChangeSchema.safeParse({ ...change, parts: { ...change.parts, extra: 1 } }).success).toBe(false);
  expect(rollChangeSchema.safeParse({ ...change, servers: { ids: ['x'], changed: [] } }).success).toBe(false);
  expect(rollChangeSchema.safeParse({ ...change, sessions: { ids: [], changed: [{}] } }).success).toBe(false);
});

test('any run of rolls arrives as it was', () => {
  const all = exampleRoll();
  const step = fc.record({
    servers: fc.shuffledSubarray(all.servers),
    alerts: fc.subarray(all.alerts),
    timeline: fc.subarray(all.timeline),
    sessions: fc.shuffledSubarray(all.sessions),
    cpu: fc.option(fc.integer({ min: 0, max: 400 })),
    at: fc.nat(20),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 6 }), (steps) => {
      const sender = new RollSender();
      let shown: Roll | null = null;
      let roll = all;
      for (const { servers, alerts, timeline, sessions, cpu, at } of steps) {
        roll = later(roll, (next) => {
          Object.assign(next, structuredClone({ servers, alerts, timeline, sessions }));
          const session = next.sessions[at];
          if (session !== undefined) session.detail = String(cpu);
          const server = next.servers[at];
          if (server !== undefined) server.cpuPercent = cpu;
        });
        shown = applyChange(shown, wired(sender.changeTo(roll)));
        expect(shown).toEqual(roll);
      }
    }),
    { numRuns: 60 },
  );
});
