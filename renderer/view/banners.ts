import type { Alert, Ended, HostEntry, Roll, Task } from '../../app/roll/schema.ts';
import { endedBy } from '../../app/text/ended-words.ts';
import { hostProblem, isFaulty } from '../../app/text/host-words.ts';

/** What may stand in the strip over list and details. At most one is shown; the others are a link at its end. */
export type Strip =
  | { readonly type: 'task'; readonly key: string; readonly task: Task }
  | { readonly type: 'alert'; readonly key: string; readonly alert: Alert }
  /** Servers that went away unasked: one, or more than `ENDED_LIMIT` together. */
  | { readonly type: 'ended'; readonly key: string; readonly level: Alert['level']; readonly ended: readonly Ended[] }
  /** A host whose last look failed, that does not answer, or that could not be connected. */
  | { readonly type: 'host'; readonly key: string; readonly host: HostEntry };

/** More ended servers than this are one strip, which opens up. */
export const ENDED_LIMIT = 3;

/** Names the strip of one ended server, also where it is one of several. */
export function endedKey(nonce: string): string {
  return `ended ${nonce}`;
}

/** Whether a strip is the one of that key, or holds what has it. */
export function hasKey(strip: Strip, key: string): boolean {
  return strip.key === key || (strip.type === 'ended' && strip.ended.some(({ nonce }) => endedKey(nonce) === key));
}

/** For how long a good result stands before a leak, in milliseconds; after that the leak is the worse news. */
const RESULT_FIRST_MS = 10_000;

const ALERT_RANK: Readonly<Record<Alert['level'], number>> = { fault: 2, leak: 4, notice: 6 };
/** A server that stops in a minute unless somebody says no: the leak is still there after that. */
const IDLE_RANK = 3;

function taskRank(task: Task, now: number): number {
  if (task.state === 'running') return 0;
  if (task.state === 'failed') return 1;
  const age = task.endedAt === null ? 0 : now - Date.parse(task.endedAt);
  return age < RESULT_FIRST_MS ? 3 : 5;
}

/** A leak that a running reap deals with says nothing new. */
function coveredByReap(alert: Alert, roll: Roll): boolean {
  if (alert.level !== 'leak') return false;
  const underWay = new Set(
    roll.tasks
      .filter((task) => task.act === 'reap' && task.state === 'running')
      .flatMap((task) => task.rows.map((row) => row.id)),
  );
  return alert.servers.length > 0 && alert.servers.every((id) => underWay.has(id));
}

function endedStrips(roll: Roll, host: string | null): readonly (Strip & { readonly type: 'ended' })[] {
  const found = roll.alerts.flatMap(({ ended: nonce, level }) => {
    const ended = endedBy(roll, nonce);
    return ended === null || (host !== null && ended.host !== host) ? [] : [{ ended, level }];
  });
  if (found.length <= ENDED_LIMIT) {
    return found.map(({ ended, level }) => ({ type: 'ended', key: endedKey(ended.nonce), level, ended: [ended] }));
  }
  const level = found.some((each) => each.level === 'fault') ? 'fault' : 'notice';
  return [{ type: 'ended', key: 'ended', level, ended: found.map(({ ended }) => ended) }];
}

/**
 * Every strip that has a cause now, the worst first: acts under way, what failed, faults, a fresh good result, idle stops, leaks,
 * older results, notices. A start or stop that went well is news for the row and the timeline, not for a strip.
 */
export function banners(roll: Roll, host: string | null): readonly Strip[] {
  const now = Date.parse(roll.takenAt);
  const hostOf = new Map(roll.servers.map((server) => [server.id, server.host]));
  const onHost = (alert: Alert): boolean =>
    host === null ||
    alert.servers.length === 0 ||
    alert.servers.some((id) => hostOf.get(id) === undefined || hostOf.get(id) === host);
  const ranked: { rank: number; strip: Strip }[] = [];
  for (const task of roll.tasks) {
    if (task.act !== 'reap' && task.state === 'done') continue;
    ranked.push({ rank: taskRank(task, now), strip: { type: 'task', key: `task ${task.id}`, task } });
  }
  for (const entry of roll.hosts) {
    if (hostProblem(entry, now) === null || (host !== null && entry.name !== host)) continue;
    // One that has been silent for a moment only is no fault yet: a leak is the worse news.
    const rank = isFaulty(entry, now) ? ALERT_RANK.fault : ALERT_RANK.notice;
    ranked.push({ rank, strip: { type: 'host', key: `host ${entry.id}`, host: entry } });
  }
  const gone = endedStrips(roll, host);
  ranked.push(...gone.map((strip) => ({ rank: ALERT_RANK[strip.level], strip })));
  for (const alert of roll.alerts) {
    if (alert.ended !== undefined || coveredByReap(alert, roll) || !onHost(alert)) continue;
    const rank = alert.act === 'keep-awake' ? IDLE_RANK : ALERT_RANK[alert.level];
    ranked.push({ rank, strip: { type: 'alert', key: `alert ${alert.id}`, alert } });
  }
  return ranked.sort((a, b) => a.rank - b.rank).map((entry) => entry.strip);
}

const PAST: Readonly<Record<Task['act'], readonly [now: string, past: string]>> = {
  start: ['Starting ', 'Started '],
  stop: ['Stopping ', 'Stopped '],
  restart: ['Restarting ', 'Restarted '],
  reap: ['Reaping ', 'Reaped '],
};

/** What an act is called: as it goes on while it does, as a deed once it is done, and neither where it failed. */
export function taskTitle(task: Task): string {
  const [now, past] = PAST[task.act];
  if (task.state === 'running' || !task.title.startsWith(now)) return task.title;
  return task.state === 'done' ? `${past}${task.title.slice(now.length)}` : `${task.title} failed`;
}

/** The phase of every row that is being acted on now, by row id; a server of ours may also be amid its own start or end. */
export function phases(roll: Roll): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { id, supervised } of roll.servers) {
    if (supervised?.state === 'starting') found.set(id, 'Starting');
    if (supervised?.state === 'stopping') found.set(id, 'Stopping');
  }
  for (const task of roll.tasks) {
    if (task.state !== 'running') continue;
    for (const row of task.rows) {
      if (row.id !== null && row.outcome === null) found.set(row.id, row.phase);
    }
  }
  return found;
}

/** The task that an act just given has started: of its kind, not there before, about one of these rows. */
export function taskOf(
  tasks: readonly Task[],
  act: Task['act'],
  before: ReadonlySet<string>,
  ids: readonly string[],
): Task | null {
  return (
    tasks.findLast(
      (task) =>
        task.act === act &&
        !before.has(task.id) &&
        (act === 'start' || task.rows.some((row) => row.id !== null && ids.includes(row.id))),
    ) ?? null
  );
}
