/** The app crashes and nobody comes: its guard must end what nobody owns any more, and then go. */
import { askServer, isAbsence } from './actions/servers.ts';
import { pause, SIGKILL } from './chaos.ts';
import type { Being } from './ledger.ts';
import { lives } from './proc.ts';
import type { SettleDeps } from './settle.ts';

/** The grace, the endings one after the other, and the guard's own end; milliseconds. */
const GUARD_MS = 45_000;

const LOOKS = 10;

/** Call it when there is order. */
export async function withoutApp({ chaos, watch }: SettleDeps): Promise<void> {
  const { stage, ledger, strangers } = chaos;
  const directory = stage.moods.folders['plain'] ?? '/';
  await askServer(chaos, {
    command: 'start',
    kind: 'opencode',
    directory,
    port: null,
    forPid: null,
    keepRunning: false,
  });
  let doomed: Being[] | null = [];
  // Whether one is busy is not known from its first moment.
  for (let look = 0; look < LOOKS && doomed?.length === 0; look += 1) {
    await pause(500);
    ledger.scan();
    doomed = await idleAndUnowned({ chaos, watch });
  }
  const [app] = ledger.living('app');
  if (doomed === null || doomed.length === 0 || app === undefined) return;
  await strangers.strike(app, SIGKILL, { label: 'took the PID of an app' });
  const until = performance.now() + GUARD_MS;
  let left: readonly Being[] = doomed;
  while (left.length > 0 && performance.now() < until) {
    await pause(200);
    left = left.filter(({ pid, ticks }) => lives(pid, ticks));
  }
  chaos.count('crashes that the guard cleaned up after');
  chaos.log({ withoutApp: true, ended: doomed.length - left.length, left: left.map(({ pid }) => pid) });
  for (const { pid, label, nonce } of left) {
    const log = stage.guardLog();
    watch.violated('a guard left a server', `server ${pid} (${label}) of start ${nonce}; the guard's log ends: ${log}`);
  }
}

/** Processes of servers that the guard has to end: not kept, bound to nobody, and known to be idle. */
async function idleAndUnowned({ chaos, watch }: Pick<SettleDeps, 'chaos' | 'watch'>): Promise<Being[] | null> {
  const kept = new Set(
    watch.records
      .read()
      .filter(({ record }) => record === null || record.keepRunning || record.owner !== null)
      .map(({ nonce }) => nonce),
  );
  try {
    const { servers } = await chaos.stage.look();
    const idle = new Set(
      servers.filter(({ busy, supervised }) => busy === 'idle' && supervised !== null).flatMap(({ pids }) => pids),
    );
    return chaos.ledger
      .living('server')
      .filter(({ pid, nonce }) => idle.has(pid) && nonce !== null && !kept.has(nonce));
  } catch (error) {
    if (isAbsence(error)) return null;
    throw error;
  }
}
