/** Shows the window over an example roll: ?roll=NAME (below), ?theme=light|dark; `window.preview` steers it. */
import { mount } from '../Root.tsx';
import type { WindowStore } from '../state/store.ts';
import '../styles/index.css';
import { type FakeBridge, fakeBridge } from './bridge.ts';
import { endedRoll, GIVEN_UP, MEANT, STARTING, WAITING } from './ended.ts';
import { askingRoll, firstRunRoll, hostsRoll, question } from './hosts.ts';
import { emptyRoll, exampleRoll, localRoll } from './rolls.ts';
import { statesRoll, watchAlertsRoll } from './sessions.ts';

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
  hosts: hostsRoll,
  'first-run': firstRunRoll,
  'host-key': () => askingRoll(question('host-key')),
  password: () => askingRoll(question('password', { attempt: 2 }), question('code', { host: 'web-us' })),
  passphrase: () => askingRoll(question('passphrase')),
  sessions: () => statesRoll(exampleRoll()),
  'idle-soon': () => watchAlertsRoll(exampleRoll(), 'keep-awake'),
  'hooks-failed': () => watchAlertsRoll(exampleRoll(), 'retry-hooks'),
  many: () => endedRoll(WAITING, GIVEN_UP, MEANT, STARTING),
};
const roll = (EXAMPLES[query.get('roll') ?? 'example'] ?? exampleRoll)();
const bridge = fakeBridge(roll);
const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no element with the id "root"');
window.preview = { bridge, roll, store: mount(root, bridge) };
