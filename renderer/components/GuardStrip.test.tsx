import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { fakeBridge } from '../preview/bridge.ts';
import { localRoll } from '../preview/rolls.ts';
import { createActs } from '../state/actions.ts';
import { RollcallContext } from '../state/context.tsx';
import { createWindowStore } from '../state/store.ts';
import { StripBar } from './StripBar.tsx';

test('a guard that does not run is a fault with what it would cost and the button that starts it', async () => {
  const detail = 'If Rollcall crashed now, 2 local servers would be left behind. It ended with code 1.';
  const roll = {
    ...localRoll(),
    tasks: [],
    ended: [],
    alerts: [
      {
        id: 'guard',
        level: 'fault' as const,
        title: 'The guard does not run',
        detail,
        act: 'start-guard' as const,
        servers: [],
      },
    ],
  };
  const bridge = fakeBridge(roll);
  const store = createWindowStore();
  const acts = createActs(store, bridge);
  const html = renderToStaticMarkup(
    <RollcallContext value={{ store, acts }}>
      <StripBar roll={roll} />
    </RollcallContext>,
  );
  expect(html).toContain('strip-fault');
  expect(html).toContain('The guard does not run');
  expect(html).toContain(detail);
  expect(html).toMatch(/<button[^>]*>Start the guard<\/button>/u);
  acts.startGuard();
  await new Promise((done) => setImmediate(done));
  expect(bridge.asked).toContainEqual({ name: 'command.run', payload: { command: 'start-guard' } });
});
