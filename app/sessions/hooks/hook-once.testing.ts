/**
 * A process that opens a ledger and runs what is due, for tests that kill it. Arguments: state folder, the configuration's
 * hooks as JSON, and where it dies by itself: `before-attempt`, `after-attempt`, or nowhere.
 */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createLocalHost } from '../../hosts/local/local-host.ts';
import { inlineLooker } from '../../hosts/local/look/looker.ts';
import { SessionLedger } from '../store/ledger.ts';
import { Hooks } from './hooks.ts';

const [folder = '', configured = '[]', dies = ''] = process.argv.slice(2);
const host = await createLocalHost({ looker: inlineLooker(() => ({ state: 'other' })), stateDir: folder });
const ledger = SessionLedger.open(join(folder, 'sessions.jsonl'));
const die = (): void => void process.kill(process.pid, 'SIGKILL');
const attempted = ledger.attempted.bind(ledger);
ledger.attempted = (key, attempt) => {
  if (dies === 'before-attempt') die();
  const written = attempted(key, attempt);
  if (dies === 'after-attempt') die();
  return written;
};
const hooks = new Hooks({
  ledger,
  host,
  audit: { write: () => undefined, note: () => undefined },
  by: 'app',
  folder: join(folder, 'hooks'),
  env: process.env,
  home: homedir(),
  configured: () => JSON.parse(configured),
  onChange: () => undefined,
});
hooks.pump();
// It lives until it is killed.
setInterval(() => undefined, 60_000);
