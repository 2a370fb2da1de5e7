import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LIFE_STATES } from '../../roll/schema.ts';
import {
  adopted,
  backoffMs,
  isOver,
  type LifeEvent,
  MAX_BACKOFF_MS,
  planned,
  type RestartPolicy,
  type ServerLifecycle,
  STABLE_MS,
  step,
} from './lifecycle.ts';

const POLICY: RestartPolicy = { when: 'failure', attempts: 3 };
const crash: LifeEvent = { type: 'exited', status: { code: null, signal: 'SIGKILL' } };

/** Steps through events that all happen at the same moment. */
function told(life: ServerLifecycle, events: readonly LifeEvent[], policy = POLICY, now = 0): ServerLifecycle {
  return events.reduce((current, event) => step(current, event, policy, now).life, life);
}

describe('a life', () => {
  test('goes from planned over starting to ready, and ends as stopped', () => {
    const states: string[] = [];
    let life = planned(0, 0);
    for (const event of ['spawned', 'answered', 'ending', 'ended'] as const) {
      states.push(life.state);
      life = step(life, { type: event }, POLICY, 0).life;
    }
    expect([...states, life.state]).toEqual(['planned', 'starting', 'ready', 'stopping', 'stopped']);
  });

  test('a slow health is shown and is never a reason to restart', () => {
    const { life, act } = step(adopted(0, true, 0), { type: 'silent', why: 'no answer' }, POLICY, 1);
    expect(life).toMatchObject({ state: 'unresponsive', why: 'no answer', retryAt: null });
    expect(act).toBe('none');
    expect(step(life, { type: 'answered' }, POLICY, 2).life.state).toBe('ready');
  });

  test('one whose start was cut off waits for its first answer, and its exit is noticed anyway', () => {
    const life = adopted(0, false, 0);
    expect(life.state).toBe('unresponsive');
    expect(step(life, { type: 'answered' }, POLICY, 9).life).toMatchObject({ state: 'ready', readySince: 9 });
    expect(step(life, crash, POLICY, 0)).toMatchObject({ life: { state: 'lost', attempt: 1 }, act: 'sweep' });
  });

  test('an exit while it is being stopped is no surprise', () => {
    const stopping = told(adopted(0, true, 0), [{ type: 'ending' }]);
    expect(step(stopping, crash, POLICY, 0)).toEqual({ life: stopping, act: 'none' });
  });

  test('one that an ending could not end is unresponsive, not stopped', () => {
    const stayed: LifeEvent = { type: 'stayed', why: 'PID 7 is left', signalled: true };
    const life = told(adopted(0, true, 0), [{ type: 'ending' }, stayed]);
    expect(life).toMatchObject({ state: 'unresponsive', why: 'PID 7 is left' });
  });

  test('one that was stopped and took longer than anybody waited is not started again when it goes', () => {
    const stayed: LifeEvent = { type: 'stayed', why: 'PID 7 is left', signalled: true };
    const life = told(adopted(0, true, 0), [{ type: 'ending' }, stayed, { type: 'answered' }]);
    expect(step(life, crash, POLICY, 9)).toMatchObject({ life: { state: 'stopped', retryAt: null }, act: 'sweep' });
    // An ending that refused has asked nothing of it.
    const refused = told(adopted(0, true, 0), [{ type: 'ending' }, { ...stayed, signalled: false }]);
    expect(step(refused, crash, POLICY, 9)).toMatchObject({ life: { state: 'lost', attempt: 1 } });
  });

  test('a start that a person asked for fails at once; one of our own is tried again, unless that is of no use', () => {
    const failure: LifeEvent = { type: 'start-failed', why: 'silent', final: false };
    expect(told(planned(0, 0), [failure]).state).toBe('failed');
    expect(told(planned(0, 1), [failure])).toMatchObject({ state: 'lost', attempt: 2, retryAt: backoffMs(2) });
    expect(told(planned(0, 1), [{ ...failure, final: true }]).state).toBe('failed');
  });
});

describe('an exit that nobody asked for', () => {
  test.each([
    [{ code: 1, signal: null }, true],
    [{ code: null, signal: 'SIGKILL' }, true],
    [{ code: null, signal: 'SIGSEGV' }, true],
    // Somebody meant it to end, or it ended by itself, or nobody can tell.
    [{ code: 0, signal: null }, false],
    [{ code: null, signal: 'SIGTERM' }, false],
    [{ code: null, signal: 'SIGINT' }, false],
    [null, false],
  ])('%j is a crash: %s', (status, restarts) => {
    const { life, act } = step(adopted(0, true, 0), { type: 'exited', status }, POLICY, 50);
    expect(life.state).toBe('lost');
    expect(act).toBe('sweep');
    expect(life.retryAt).toBe(restarts ? 50 + backoffMs(1) : null);
  });

  test('is not restarted where the policy says never, also for a start of our own that failed', () => {
    const never: RestartPolicy = { when: 'never', attempts: 3 };
    expect(step(adopted(0, true, 0), crash, never, 0).life).toMatchObject({ state: 'lost', retryAt: null });
    expect(step(planned(0, 1), { type: 'start-failed', why: '', final: false }, never, 0).life).toMatchObject({
      state: 'lost',
      retryAt: null,
    });
  });

  test('waits twice as long each time, up to a minute', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 20].map(backoffMs)).toEqual([1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000]);
  });

  test('after it was stable for a while begins a new row of attempts', () => {
    const soon = step(adopted(0, true, 3), crash, POLICY, STABLE_MS - 1).life;
    expect(soon.state).toBe('failed');
    const late = step(adopted(0, true, 3), crash, POLICY, STABLE_MS).life;
    expect(late).toMatchObject({ state: 'lost', attempt: 1 });
  });

  test('a person starts a given-up one again with all attempts before it', () => {
    const failed = step(adopted(0, true, 3), crash, POLICY, 0).life;
    expect(step(failed, { type: 'due', by: 'person' }, POLICY, 0)).toMatchObject({
      life: { state: 'planned', attempt: 0 },
      act: 'restart',
    });
  });
});

const anyEvent: fc.Arbitrary<LifeEvent> = fc.oneof(
  fc.constantFrom<LifeEvent>(
    { type: 'spawned' },
    { type: 'answered' },
    { type: 'ending' },
    { type: 'ended' },
    { type: 'due', by: 'policy' },
  ),
  fc.record({ type: fc.constant('silent' as const), why: fc.string() }),
  fc.record({ type: fc.constant('stayed' as const), why: fc.string(), signalled: fc.boolean() }),
  fc.record({ type: fc.constant('start-failed' as const), why: fc.string(), final: fc.boolean() }),
  fc.record({
    type: fc.constant('exited' as const),
    status: fc.constantFrom(
      null,
      { code: 0, signal: null },
      { code: 1, signal: null },
      { code: null, signal: 'SIGKILL' },
    ),
  }),
);

describe('whatever happens, in whatever order', () => {
  test('there is no storm: no more restarts in a row than the policy allows, and each waits its time', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyEvent, fc.integer({ min: 0, max: 5000 })), { maxLength: 200 }), (events) => {
        let life = planned(0, 0);
        let now = 0;
        for (const [event, pause] of events) {
          now += pause;
          // As the caller does: nobody restarts one before its time.
          if (event.type === 'due' && (life.retryAt === null || life.retryAt > now)) continue;
          const before = life;
          const result = step(life, event, POLICY, now);
          life = result.life;
          expect(LIFE_STATES).toContain(life.state);
          expect(life.attempt).toBeLessThanOrEqual(POLICY.attempts);
          if (life.retryAt !== null) {
            expect(life.state).toBe('lost');
            expect(life.retryAt - now).toBeLessThanOrEqual(MAX_BACKOFF_MS);
          }
          if (result.act === 'restart') expect(before.state === 'lost' && before.retryAt !== null).toBe(true);
          if (before.state === 'stopped') expect(life).toBe(before);
        }
      }),
    );
  });

  test('an ending is never undone by news: from stopping it goes to stopped or stays, nowhere else', () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        const life = told(adopted(0, true, 0), [{ type: 'ending' }]);
        expect(['stopping', 'stopped', 'unresponsive']).toContain(step(life, event, POLICY, 0).life.state);
      }),
    );
    expect(LIFE_STATES.filter(isOver)).toEqual(['stopped', 'failed', 'lost']);
  });
});
