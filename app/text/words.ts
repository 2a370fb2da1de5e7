/**
 * How numbers, times, paths and names read, once for tray, window and CLI. Pure: no Node, no DOM, no locale, so that
 * all three faces say the same thing in the same words.
 */
import type { Alert, Leftover, Roll, Server, Standing } from '../roll/schema.ts';

/** What stands where nothing is known; never 0. */
export const NOTHING = '–';

export interface Quantity {
  readonly digits: string;
  readonly unit: string;
  /** Digits, a space, unit: `1.84 GB`. */
  readonly text: string;
}

const BYTE_UNITS = ['kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** Three digits at most: whole kB and MB; from 1 GB on two decimals, one from 10, none from 100. */
function byteDigits(value: number, unit: string): string {
  if (unit === 'kB' || unit === 'MB') return String(Math.round(value));
  if (value < 9.995) return value.toFixed(2);
  return value < 99.95 ? value.toFixed(1) : String(Math.round(value));
}

/** `bytes` in decimal units: `131 MB`, `1.84 GB`, `12.3 GB`. Zero is `0 MB`. */
export function formatBytes(bytes: number): Quantity {
  if (bytes < 500) return { digits: '0', unit: 'MB', text: '0 MB' };
  let value = bytes / 1000;
  let step = 0;
  // 999.5 is where rounding would print a fourth digit.
  while (value >= 999.5 && step < BYTE_UNITS.length - 1) {
    value /= 1000;
    step += 1;
  }
  const unit = BYTE_UNITS[step] ?? 'kB';
  const digits = byteDigits(value, unit);
  return { digits, unit, text: `${digits} ${unit}` };
}

/** Percent of one core with one decimal; `–` where it is unknown. */
export function formatCpu(percent: number | null): string {
  return percent === null ? NOTHING : percent.toFixed(1);
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The two units of an age in a column; `minor` is empty where one says enough, and is dropped where space is short. */
export function columnAgeParts(ms: number): { readonly major: string; readonly minor: string } {
  const age = Math.max(0, ms);
  if (age < MINUTE) return { major: `${Math.floor(age / SECOND)}s`, minor: '' };
  if (age < HOUR) return { major: `${Math.floor(age / MINUTE)}m`, minor: '' };
  const days = Math.floor(age / DAY);
  const hours = Math.floor((age % DAY) / HOUR);
  if (days === 0) {
    const minutes = Math.floor((age % HOUR) / MINUTE);
    return { major: `${hours}h`, minor: minutes === 0 ? '' : `${minutes}m` };
  }
  return { major: `${days}d`, minor: days >= 10 || hours === 0 ? '' : `${hours}h` };
}

/** An age of `ms` milliseconds for a column: `38m`, `5h 12m`, `2d 4h`, `12d`. */
export function columnAge(ms: number): string {
  const { major, minor } = columnAgeParts(ms);
  return minor === '' ? major : `${major} ${minor}`;
}

/** An age of `ms` milliseconds for a sentence: `8 s`, `31 min`, `5 h`, `2 days`. */
export function sentenceAge(ms: number): string {
  const age = Math.max(0, ms);
  if (age < MINUTE) return `${Math.floor(age / SECOND)} s`;
  if (age < HOUR) return `${Math.floor(age / MINUTE)} min`;
  if (age < DAY) return `${Math.floor(age / HOUR)} h`;
  return plural(Math.floor(age / DAY), 'day');
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const;

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}

/**
 * A moment in local time: `14:31:20` today, `Sat 11:02` within the six days before, `21 Nov 11:02` beyond.
 *
 * @param iso the moment, ISO 8601
 * @param now milliseconds since the epoch
 */
export function clockTime(iso: string, now: number): string {
  const at = new Date(iso);
  const today = new Date(now);
  const minutes = `${twoDigits(at.getHours())}:${twoDigits(at.getMinutes())}`;
  if (at.toDateString() === today.toDateString()) return `${minutes}:${twoDigits(at.getSeconds())}`;
  const midnight = new Date(today.getFullYear(), today.getMonth(), today.getDate());
  const sixDaysBefore = new Date(midnight);
  sixDaysBefore.setDate(midnight.getDate() - 6);
  if (at >= sixDaysBefore && at < midnight) return `${WEEKDAYS[at.getDay()] ?? ''} ${minutes}`;
  return `${at.getDate()} ${MONTHS[at.getMonth()] ?? ''} ${minutes}`;
}

/** A moment's time of day in local time, to the minute: `14:31`. */
export function minuteTime(iso: string): string {
  const at = new Date(iso);
  return `${twoDigits(at.getHours())}:${twoDigits(at.getMinutes())}`;
}

/** `path` with the home folder as `~`. */
export function shortenPath(path: string, home: string): string {
  const base = home.replace(/[/\\]+$/u, '');
  if (base === '') return path;
  if (path === base) return '~';
  const next = path.charAt(base.length);
  return path.startsWith(base) && (next === '/' || next === '\\') ? `~${path.slice(base.length)}` : path;
}

/** Where the last part of a path begins. A backslash separates only in a path with a drive letter. */
function tailIndex(path: string): number {
  const trimmed = path.length > 1 ? path.replace(/\/+$/u, '') : path;
  const slash = trimmed.lastIndexOf('/');
  const cut = /^[A-Za-z]:\\/u.test(path) ? Math.max(slash, trimmed.lastIndexOf('\\')) : slash;
  return cut >= trimmed.length - 1 ? 0 : cut + 1;
}

/** The last part of a path, which stays when space is short: `atlas` of `~/src/atlas`. */
export function pathTail(path: string): string {
  return path.slice(tailIndex(path));
}

/** What stands before the last part: `~/src/` of `~/src/atlas`. */
export function pathHead(path: string): string {
  return path.slice(0, tailIndex(path));
}

/** A fact or reason as a sentence of its own begins: `its owner is alive` becomes `Its owner is alive`. */
export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A number and its noun: `1 server`, `2 servers`; `many` where the plural is not a plain s. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Items in a sentence: `a`, `a and b`, `a, b and c`. */
export function listed(items: readonly string[]): string {
  const last = items.at(-1);
  if (last === undefined) return '';
  const before = items.slice(0, -1);
  return before.length === 0 ? last : `${before.join(', ')} and ${last}`;
}

type Named = Pick<Server, 'kind' | 'listening' | 'transport' | 'duplicates'>;

/** What follows the kind in a server's name: `:34801`, `stdio`, `socket`, `×12` for copies; empty for one that does not listen yet. */
export function serverPlace(server: Named): string {
  if (server.duplicates > 1) return `×${server.duplicates}`;
  const port = server.listening[0]?.port;
  if (port !== undefined) return `:${port}`;
  return server.transport === 'tcp' ? '' : server.transport;
}

/** `opencode :34801`, `codex stdio`, `codex socket`, `claude ×12`. */
export function serverLabel(server: Named): string {
  const place = serverPlace(server);
  return place === '' ? server.kind : `${server.kind} ${place}`;
}

/** A server named as its row does: `opencode :34801 on local`. */
export function rowName(server: Named & Pick<Server, 'host'>): string {
  return `${serverLabel(server)} on ${server.host}`;
}

/** A name without its host: `opencode :14200` of `opencode :14200 on local`. */
export function withoutHost(label: string): string {
  const at = label.lastIndexOf(' on ');
  return at < 0 ? label : label.slice(0, at);
}

/** A leftover named as its row does: `node, PID 41260 on local`. */
export function leftoverName(leftover: Pick<Leftover, 'name' | 'pid' | 'host'>): string {
  return `${leftover.name}, PID ${leftover.pid} on ${leftover.host}`;
}

const STANDING_WORDS: Readonly<Record<Standing, string>> = {
  supervised: 'Supervised',
  service: 'Service',
  owned: 'Owned',
  detached: 'Detached',
  suspect: 'Suspect',
  leaked: 'Leaked',
};

/** A standing as it heads a row: `Leaked`. In a sentence the standing itself is the word. */
export function standingWord(standing: Standing): string {
  return STANDING_WORDS[standing];
}

const STANDING_SIGNS: Readonly<Record<Standing, string>> = {
  supervised: '●',
  service: '■',
  owned: '◉',
  detached: '○',
  suspect: '◇',
  leaked: '◆',
};

/** A standing's shape as text, for the tray and the terminal. */
export function standingSign(standing: Standing): string {
  return STANDING_SIGNS[standing];
}

const STANDING_RANK: Readonly<Record<Standing, number>> = {
  leaked: 0,
  suspect: 1,
  supervised: 2,
  service: 2,
  owned: 2,
  detached: 2,
};

type Ranked = Pick<Server, 'id' | 'standing' | 'memoryBytes'>;

/** The order of every list of one host: leaked, suspect, then the rest, each by memory; id decides between equals. */
export function byProblem(a: Ranked, b: Ranked): number {
  return (
    STANDING_RANK[a.standing] - STANDING_RANK[b.standing] ||
    b.memoryBytes - a.memoryBytes ||
    (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
  );
}

/** What "reap everything leaked" would take, and what it leaves. */
export interface LeakedTotals {
  /** Leaked servers that may be reaped. */
  readonly servers: number;
  /** Verified leftovers that may be reaped. */
  readonly leftovers: number;
  /** Held by both together, in bytes. */
  readonly memoryBytes: number;
  /** Their ids, servers first. */
  readonly ids: readonly string[];
  /** Leaked servers that may not be signalled, another user's for example; not in the numbers above. */
  readonly outOfReach: number;
}

/** What reaping a row would free, in bytes: of copies, all but what stays. */
export function reapedBytes({ memoryBytes, keeps }: Pick<Server, 'memoryBytes' | 'keeps'>): number {
  return memoryBytes - (keeps?.memoryBytes ?? 0);
}

/** Sums up what the one click would reap in a roll, or on one host of it: what is leaked and may be reaped unasked. */
export function leakedTotals(roll: Pick<Roll, 'servers' | 'leftovers'>, host?: string): LeakedTotals {
  const here = (row: { readonly host: string }): boolean => host === undefined || row.host === host;
  const leaked = roll.servers.filter((server) => server.standing === 'leaked' && here(server));
  const servers = leaked.filter((server) => server.reap.allowed === 'yes').sort(byProblem);
  const leftovers = roll.leftovers.filter((leftover) => leftover.reap.allowed === 'yes' && here(leftover));
  return {
    servers: servers.length,
    leftovers: leftovers.length,
    memoryBytes:
      servers.reduce((sum, server) => sum + reapedBytes(server), 0) +
      leftovers.reduce((sum, leftover) => sum + leftover.rssBytes, 0),
    ids: [...servers.map((server) => server.id), ...leftovers.map((leftover) => leftover.id)],
    outOfReach: leaked.length - servers.length,
  };
}

/** The things counted, in words: `3 servers`, `2 leaked servers and 1 leftover`, `1 leftover`. Empty when there are none. */
export function leakedThings(totals: Pick<LeakedTotals, 'servers' | 'leftovers'>, adjective: '' | 'leaked'): string {
  const noun = adjective === '' ? 'server' : 'leaked server';
  const parts: string[] = [];
  if (totals.servers > 0) parts.push(plural(totals.servers, noun));
  if (totals.leftovers > 0) parts.push(plural(totals.leftovers, 'leftover'));
  return listed(parts);
}

/** The window's button: `Reap 3 servers`. */
export function reapLabel(totals: Pick<LeakedTotals, 'servers' | 'leftovers'>): string {
  return `Reap ${leakedThings(totals, '')}`;
}

/** The tray's item: `Reap 3 leaked servers, frees 4.31 GB`. */
export function reapLabelWithGain(totals: LeakedTotals): string {
  return `Reap ${leakedThings(totals, 'leaked')}, frees ${formatBytes(totals.memoryBytes).text}`;
}

/** The alert's first line: `3 leaked servers hold 4.31 GB`, `1 leaked server holds 131 MB`. */
export function leakSentence(totals: LeakedTotals): string {
  const one = totals.servers + totals.leftovers === 1;
  return `${leakedThings(totals, 'leaked')} ${one ? 'holds' : 'hold'} ${formatBytes(totals.memoryBytes).text}`;
}

/** `5 sessions busy`; where no session is watched, how many servers show a sign of work. */
function busyWords(roll: Pick<Roll, 'servers' | 'sessions'>): string {
  if (roll.sessions.some((session) => session.state !== 'ended')) {
    return `${plural(roll.sessions.filter((session) => session.state === 'busy').length, 'session')} busy`;
  }
  const busy = roll.servers.filter((server) => server.busy === 'busy').length;
  return busy === 0 ? 'none busy' : `${busy} busy`;
}

/** Total memory of servers, in bytes. */
export function totalMemory(servers: readonly Pick<Server, 'memoryBytes'>[]): number {
  return servers.reduce((sum, server) => sum + server.memoryBytes, 0);
}

export interface Headline {
  /** The state: `3 servers leaked, 4.31 GB`. At most 44 characters, except for a fault's own sentence. */
  readonly first: string;
  /** What it costs or what runs; empty when there is nothing to add. */
  readonly second: string;
}

function leaksHeadline(roll: Pick<Roll, 'servers' | 'leftovers'>): string | null {
  const totals = leakedTotals(roll);
  const memory = formatBytes(totals.memoryBytes).text;
  if (totals.servers > 0) {
    const leftovers = totals.leftovers > 0 ? ` and ${plural(totals.leftovers, 'leftover')}` : '';
    return `${plural(totals.servers, 'server')} leaked${leftovers}, ${memory}`;
  }
  if (totals.leftovers > 0) return `${plural(totals.leftovers, 'leftover')}, ${memory}`;
  return totals.outOfReach > 0 ? `${plural(totals.outOfReach, 'server')} leaked, another user’s` : null;
}

function fineHeadline(roll: Roll): string {
  const suspects = roll.servers.filter((server) => server.standing === 'suspect').length;
  const all = plural(roll.servers.length, 'server');
  return suspects > 0 ? `${all}, ${plural(suspects, 'suspect')}` : `${all}, none leaked`;
}

/** The alerts that are faults: Rollcall cannot do its work without the person. */
export function faultAlerts(roll: Pick<Roll, 'alerts'>): readonly Alert[] {
  return roll.alerts.filter((alert) => alert.level === 'fault');
}

/** The two lines that say the state of everything; the first is also the tray's tooltip and accessible name. */
export function rollHeadline(roll: Roll): Headline {
  const leaks = leaksHeadline(roll);
  const faults = faultAlerts(roll);
  const fault = faults[0];
  const runs = `${plural(roll.servers.length, 'server')}, ${busyWords(roll)}`;
  if (fault !== undefined) {
    return { first: faults.length === 1 ? fault.title : plural(faults.length, 'fault'), second: leaks ?? runs };
  }
  if (leaks !== null) return { first: leaks, second: runs };
  if (roll.hosts.every((host) => host.lookedAt === null)) return { first: 'Not looked yet', second: '' };
  if (roll.servers.length === 0) {
    const counted = roll.hosts.reduce((sum, host) => sum + host.counted, 0);
    return { first: 'No servers', second: `${plural(counted, 'process', 'processes')} looked at` };
  }
  return { first: fineHeadline(roll), second: `${busyWords(roll)}, ${formatBytes(totalMemory(roll.servers)).text}` };
}

/** A host's line: `local, 7 servers, 2 leaked`. */
export function hostHeadline(roll: Pick<Roll, 'servers'>, host: string): string {
  const servers = roll.servers.filter((server) => server.host === host);
  const leaked = servers.filter((server) => server.standing === 'leaked').length;
  const parts = [host, plural(servers.length, 'server')];
  if (leaked > 0) parts.push(`${leaked} leaked`);
  return parts.join(', ');
}
