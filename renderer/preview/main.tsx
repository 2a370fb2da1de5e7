/** Shows the window over an example roll: ?roll=example|local|empty|ended|failed|many, ?theme=light|dark; `window.preview` steers it. */
import { mount } from '../Root.tsx';
import type { WindowStore } from '../state/store.ts';
import '../styles/index.css';
import { type FakeBridge, fakeBridge } from './bridge.ts';
import { endedRoll, GIVEN_UP, MEANT, STARTING, WAITING } from './ended.ts';
import { emptyRoll, exampleRoll, localRoll } from './rolls.ts';

declare global {
  interface Window {
    preview?: {
      readonly bridge: FakeBridge;
      readonly store: WindowStore;
      readonly roll: ReturnType<typeof exampleRoll>;
    };
  }
}

const query = new URLSearchParams(location.search);
const theme = query.get('theme');
if (theme !== null) document.documentElement.dataset['theme'] = theme;
const EXAMPLES: Readonly<Record<string, () => ReturnType<typeof exampleRoll>>> = {
  example: exampleRoll,
  local: localRoll,
  empty: emptyRoll,
  ended: () => endedRoll(WAITING),
  failed: () => endedRoll(GIVEN_UP),
  many: () => endedRoll(WAITING, GIVEN_UP, MEANT, STARTING),
};
const roll = (EXAMPLES[query.get('roll') ?? 'example'] ?? exampleRoll)();
const bridge = fakeBridge(roll);
const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no element with the id "root"');
window.preview = { bridge, roll, store: mount(root, bridge) };
