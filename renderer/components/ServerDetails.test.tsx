import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import type { Server } from '../../app/roll/schema.ts';
import { fakeBridge } from '../preview/bridge.ts';
import { endedRoll } from '../preview/ended.ts';
import { HOME, TAKEN_AT } from '../preview/rolls.ts';
import { createActs } from '../state/actions.ts';
import { RollcallContext } from '../state/context.tsx';
import { createWindowStore } from '../state/store.ts';
import { ServerDetails } from './ServerDetails.tsx';

const roll = endedRoll();

function drawn(server: Server): string {
  const store = createWindowStore();
  return renderToStaticMarkup(
    <RollcallContext value={{ store, acts: createActs(store, fakeBridge(roll)) }}>
      <ServerDetails server={server} host={roll.hosts[0]} home={HOME} now={TAKEN_AT.getTime()} phase={null} />
    </RollcallContext>,
  );
}

function supervised(kind: string): Server & { supervised: object } {
  const found = roll.servers.find((server) => server.kind === kind && server.supervised !== null);
  if (found?.supervised == null) throw new Error(`the example has no supervised ${kind}`);
  return { ...found, supervised: found.supervised };
}

test('a supervised server says its state, and what a restart would renew beside the button that asks for it', () => {
  const html = drawn(supervised('t3'));
  expect(html).toContain('<dt>State</dt><dd>Ready</dd>');
  expect(html).toMatch(
    /<h3>Out of date<.*?<p class="note">\/usr\/local\/bin\/t3 was replaced since it was started\.<\/p><button type="button" class="button ">Restart…</u,
  );
});

test('where it may not be restarted now the button is there, and says why', () => {
  const server = supervised('t3');
  const html = drawn({ ...server, restart: { allowed: 'no', why: 'It is being ended.' } });
  expect(html).toMatch(/<button type="button" class="button " disabled="" title="It is being ended\.">Restart…/u);
});

test('one that is up to date, and one that is not ours, say nothing of it', () => {
  expect(drawn(supervised('opencode'))).not.toContain('Out of date');
  const other = roll.servers.find((server) => server.supervised === null);
  if (other === undefined) throw new Error('the example has only supervised servers');
  const html = drawn(other);
  expect(html).not.toContain('Out of date');
  expect(html).not.toContain('<dt>State</dt>');
});
