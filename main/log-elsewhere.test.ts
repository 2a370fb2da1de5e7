import { expect, test } from 'vitest';
import { ended, roll, server } from '../e2e/support/fixture-roll.ts';
import { logElsewhere } from './log-elsewhere.ts';

test('the log of a server on another host is no file of this machine, whether it runs or has ended', () => {
  const [here, there] = [server(4001, 'supervised'), server(4002, 'supervised', { host: 'web' })];
  const [over, overThere] = [ended(1), ended(2, { host: 'web' })];
  const all = roll({ servers: [here, there], ended: [over, overThere] });
  expect([logElsewhere(all, here.id), logElsewhere(all, over.nonce), logElsewhere(all, 'no such')]).toEqual([
    null,
    null,
    null,
  ]);
  for (const id of [there.id, overThere.nonce]) {
    expect(logElsewhere(all, id)).toMatch(/^The log of .+ is on web and cannot be opened from here\. .+\.$/u);
  }
});
