/** The end of a run: what is leaked is reaped, nothing is kept, the app quits; then nothing may be left. */
import { askServer } from './actions/servers.ts';
import { pause, SIGTERM } from './chaos.ts';
import { growth, type Sample, sample } from './growth.ts';
import type { Being } from './ledger.ts';
import { type SettleDeps, settle } from './settle.ts';

const ROUNDS = 10;
/** pidfds of the server, its wrapper and its owner, and the connection to its events. */
const DESCRIPTORS_PER_SERVER = 4;
const GONE_MS = 30_000;
/** Roles that stay until the namespace goes: they are this run's own. */
const OURS = new Set(['harness', 'stranger', 'owner', 'owned']);

export async function finish(parts: SettleDeps & { readonly fresh: Sample | null }): Promise<void> {
  const { chaos, fresh } = parts;
  const { stage, ledger } = chaos;
  if ((await settle(parts)) === null) return;
  for (let round = 0; round < ROUNDS; round += 1) {
    await askServer(chaos, { command: 'reap', targets: 'leaked', confirmed: true, force: false });
    const { servers, leftovers, alerts } = await stage.look();
    for (const alert of alerts)
      if ('ended' in alert) await askServer(chaos, { command: 'forget', nonce: String(alert.ended) });
    const ours = servers.filter(({ supervised }) => supervised !== null);
    // Half of them by name, the other half by quitting.
    for (const [at, { id }] of ours.entries()) {
      if (at % 2 === 0) await askServer(chaos, { command: 'stop', server: id, force: true });
      else await askServer(chaos, { command: 'keep-running', server: id, keepRunning: false });
    }
    // Those that look busy or have only just lost somebody are in no "reap all".
    const leaked = new Set(ledger.living('leaked').map(({ pid }) => pid));
    const named = [
      ...leftovers.filter(({ reap }) => reap.allowed !== 'no'),
      ...servers.filter(({ pid }) => leaked.has(pid)),
    ].map(({ id }) => id);
    if (named.length > 0) await askServer(chaos, { command: 'reap', targets: named, confirmed: true, force: true });
    if (ledger.living('leaked').length === 0 && leftovers.length === 0) break;
    await pause(500);
  }
  if ((await settle(parts)) === null) return;
  await compare(parts, fresh);
  const app = ledger.living('app')[0];
  if (app !== undefined) await chaos.strangers.strike(app, SIGTERM);
  await nothingIsLeft(parts);
  chaos.log({ end: true });
}

/** Descriptors and memory of an app that has lived through something, without servers, against one that was fresh. */
async function compare({ chaos, watch }: SettleDeps, fresh: Sample | null): Promise<void> {
  const { stage, ledger } = chaos;
  const { servers } = await stage.look();
  const after = sample(ledger);
  if (fresh === null || after === null) return;
  chaos.log({ fresh, after, servers: servers.length });
  // Some stay for the quit, and some are others'; what each of them costs is known.
  const lighter = {
    ...after,
    appDescriptors: after.appDescriptors - DESCRIPTORS_PER_SERVER * servers.length,
    children: after.children - servers.length,
  };
  for (const sentence of growth(fresh, lighter))
    watch.violated('something grew', `${sentence}: ${JSON.stringify(after.kinds)}`);
}

async function nothingIsLeft({ chaos, watch }: SettleDeps): Promise<void> {
  const { ledger } = chaos;
  let left: Being[] = [];
  const until = performance.now() + GONE_MS;
  do {
    await pause(200);
    ledger.scan();
    const owned = new Set(ledger.living('owned').map(({ pid }) => pid));
    left = ledger.living().filter(({ role, markOf }) => !OURS.has(role) && !(markOf !== null && owned.has(markOf)));
  } while (left.length > 0 && performance.now() < until);
  for (const { pid, role, label, nonce } of left) {
    watch.violated(
      'something is left at the end',
      `${role} ${pid} (${label})${nonce === null ? '' : ` of start ${nonce}`}`,
    );
  }
}
