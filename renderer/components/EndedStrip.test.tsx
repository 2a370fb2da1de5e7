import { renderToStaticMarkup } from 'react-dom/server';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Ended } from '../../app/roll/schema.ts';
import { fakeBridge } from '../preview/bridge.ts';
import { endedRoll, GIVEN_UP, MEANT, STARTING, WAITING } from '../preview/ended.ts';
import { TAKEN_AT } from '../preview/rolls.ts';
import { createActs } from '../state/actions.ts';
import { RollcallContext } from '../state/context.tsx';
import { createWindowStore } from '../state/store.ts';
import { StripBar } from './StripBar.tsx';

beforeEach(() => {
  vi.useFakeTimers({ now: TAKEN_AT });
});
afterEach(() => {
  vi.useRealTimers();
});

interface Drawn {
  readonly title: string;
  readonly detail: string;
  readonly buttons: readonly string[];
}

function drawn(...list: readonly Ended[]): Drawn {
  const roll = endedRoll(...list);
  const store = createWindowStore();
  const html = renderToStaticMarkup(
    <RollcallContext value={{ store, acts: createActs(store, fakeBridge(roll)) }}>
      <StripBar roll={roll} />
    </RollcallContext>,
  );
  const text = (name: string): string =>
    new RegExp(`class="${name} clip"[^>]*>([^<]*)<`, 'u').exec(html)?.[1] ?? `no ${name} in ${html}`;
  return {
    title: text('strip-title'),
    detail: text('strip-detail'),
    buttons: [...html.matchAll(/<button[^>]*>([^<]*)<\/button>/gu)].map((match) => match[1] ?? ''),
  };
}

test('one that waits counts down and offers its log, to be forgotten, and to start now', () => {
  expect(drawn(WAITING)).toEqual({
    title: 'opencode :4401 on local ended unexpectedly',
    detail: 'It was ended by SIGKILL. It starts again in 5 s, attempt 2 of 5.',
    buttons: ['Show log', 'Forget', 'Start now'],
  });
  vi.setSystemTime(TAKEN_AT.getTime() + 3500);
  expect(drawn(WAITING).detail).toBe('It was ended by SIGKILL. It starts again in 2 s, attempt 2 of 5.');
});

test('one that was given up is started again; one without a log has none to show', () => {
  expect(drawn(GIVEN_UP)).toMatchObject({
    detail: 'It exited with code 1. It was given up after 5 attempts; its log may tell why.',
    buttons: ['Show log', 'Forget', 'Start again'],
  });
  expect(drawn(MEANT).buttons).toEqual(['Forget', 'Start again']);
});

test('while it is being started again nothing can be asked of it but its log', () => {
  expect(drawn(STARTING)).toMatchObject({
    detail: 'It is being started again, attempt 2 of 5.',
    buttons: ['Show log'],
  });
});

test('two are turned through, four are one line that opens', () => {
  expect(drawn(WAITING, MEANT).buttons).toEqual(['1 more', 'Show log', 'Forget', 'Start now']);
  expect(drawn(WAITING, GIVEN_UP, MEANT, STARTING)).toEqual({
    title: '4 servers ended unexpectedly',
    detail: '2 are started again by themselves, 1 was given up, 1 waits for you.',
    buttons: ['Show all 4'],
  });
});
