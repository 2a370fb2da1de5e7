/** The roll as text: grouped by host, trouble first, with the reasons of what is in trouble. Pure. */

import type { HostEntry, Leftover, Roll, Server } from '../roll/schema.ts';
import { endedDetail, endedTitle, lifeWords } from '../text/ended-words.ts';
import { hostStatus, THIS_MACHINE } from '../text/host-words.ts';
import {
  byProblem,
  clockTime,
  columnAge,
  formatBytes,
  formatCpu,
  hostHeadline,
  leakedTotals,
  leakSentence,
  NOTHING,
  plural,
  serverLabel,
  shortenPath,
  standingSign,
  standingWord,
} from '../text/words.ts';
import { shortNonce } from './ended.ts';
import { hostSentences } from './render-hosts.ts';
import { type Column, cutEnd, cutPath, displayWidth, layOut, printable, type TableLayout, wrap } from './table.ts';

export interface RenderOptions {
  /** Columns of the terminal; null cuts nothing. */
  readonly width: number | null;
  readonly colour: boolean;
  readonly home: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const INDENT = 2;
const COLUMNS: readonly Column[] = [
  { head: 'Standing', align: 'left' },
  { head: 'Server', align: 'left' },
  { head: 'PID', align: 'right' },
  { head: 'Owner', align: 'left', cut: { how: cutEnd, minWidth: 8 } },
  { head: 'CPU', align: 'right' },
  { head: 'Memory', align: 'right' },
  { head: 'Age', align: 'right' },
  { head: 'Directory', align: 'left', cut: { how: cutPath, minWidth: 12 } },
];

/** Before the directory, where there is room for it without cutting anything. */
const SESSIONS_AT = COLUMNS.length - 1;
const WITH_SESSIONS: readonly Column[] = COLUMNS.toSpliced(SESSIONS_AT, 0, { head: 'Sessions', align: 'right' });

/** The whole roll, ending in a newline. */
export function renderRoll(roll: Roll, options: RenderOptions): string {
  const { cells, layout } = tableOf(roll, options);
  const lines: string[] = [];
  if (roll.settings.configProblem !== null)
    lines.push(...wrap(printable(roll.settings.configProblem), options.width), '');
  for (const host of roll.hosts) {
    if (lines.length > 0 && lines.at(-1) !== '') lines.push('');
    lines.push(...hostLines(host, roll, cells, layout, options));
  }
  lines.push(
    ...alertLines(roll, options),
    ...endedLines(roll, options),
    ...recordLines(roll, options),
    ...footLines(roll),
  );
  return `${lines.join('\n')}\n`;
}

function tableOf(roll: Roll, options: RenderOptions): { cells: ReadonlyMap<string, string[]>; layout: TableLayout } {
  const cells = new Map<string, string[]>();
  for (const server of roll.servers) cells.set(server.id, serverCells(server, options));
  for (const leftover of roll.leftovers) cells.set(leftover.id, leftoverCells(leftover, options));
  if (roll.servers.some(({ sessions }) => sessions.known && sessions.live > 0)) {
    const figures = new Map(roll.servers.map((server) => [server.id, sessionFigure(server)]));
    const more = new Map(
      [...cells].map(([id, row]) => [id, row.toSpliced(SESSIONS_AT, 0, figures.get(id) ?? NOTHING)] as const),
    );
    const whole = layOut(WITH_SESSIONS, [...more.values()], null, INDENT);
    const { width } = options;
    if (width === null || [...more.values()].every((row) => displayWidth(whole.row(row)) <= width)) {
      return { cells: more, layout: whole };
    }
  }
  return { cells, layout: layOut(COLUMNS, [...cells.values()], options.width, INDENT) };
}

/** How many live sessions it has, and how many of them are at work: `3`, `3, 1 busy`. */
function sessionFigure({ sessions }: Server): string {
  if (!sessions.known) return NOTHING;
  return sessions.busy === 0 ? String(sessions.live) : `${sessions.live}, ${sessions.busy} busy`;
}

function hostLines(
  host: HostEntry,
  roll: Roll,
  cells: ReadonlyMap<string, string[]>,
  layout: TableLayout,
  options: RenderOptions,
): string[] {
  const servers = roll.servers.filter((server) => server.host === host.name).sort(byProblem);
  const leftovers = roll.leftovers.filter((leftover) => leftover.host === host.name);
  const none = servers.length + leftovers.length === 0;
  const lines = [printable(hostLine(host, roll, none, options.now))];
  const said = host.ssh === null ? [host.detail] : hostSentences(host, options.now);
  for (const sentence of [...said, host.partial]) {
    if (sentence !== null) lines.push(...wrap(printable(sentence), options.width));
  }
  if (none) return lines;
  lines.push(layout.head);
  for (const server of servers) {
    lines.push(paint(layout.row(cells.get(server.id) ?? []), server.standing, options));
    const problem = server.standing === 'leaked' || server.standing === 'suspect';
    if (problem) for (const reason of server.reasons) lines.push(...reasonLines(reason, options));
    for (const tag of tags(server)) lines.push(...reasonLines(tag, options));
  }
  for (const leftover of leftovers) {
    lines.push(paint(layout.row(cells.get(leftover.id) ?? []), 'leaked', options));
    for (const reason of leftover.reasons) lines.push(...reasonLines(reason, options));
  }
  return lines;
}

/** A host with its totals, its state where it is not plain, and how fresh that is. */
function hostLine(host: HostEntry, roll: Roll, none: boolean, now: number): string {
  const { ssh, lookedAt } = host;
  const status = hostStatus(host, now);
  const plain = host.state === 'connected' && status === 'connected';
  // Nothing is known of one that was never looked at; another has its servers where two are one machine.
  if (ssh !== null && (lookedAt === null || ssh.sharedWith !== null)) return `${host.name}, ${status}`;
  const asOf = lookedAt === null ? 'not looked yet' : `as of ${clockTime(lookedAt, now)}`;
  const looked = none ? `, ${plural(host.counted, 'process', 'processes')} looked at` : '';
  return `${hostHeadline(roll, host.name)}${plain ? '' : `, ${status}`}${looked}, ${asOf}`;
}

function serverCells(server: Server, options: RenderOptions): string[] {
  return [
    `${standingSign(server.standing)} ${standingWord(server.standing)}`,
    printable(serverLabel(server)),
    String(server.pid),
    server.owner === null
      ? NOTHING
      : printable(server.owner.alive ? server.owner.label : `${server.owner.label}, gone`),
    formatCpu(server.cpuPercent),
    formatBytes(server.memoryBytes).text,
    columnAge(options.now - Date.parse(server.startedAt)),
    server.directory === null ? NOTHING : printable(shortenPath(server.directory, options.home)),
  ];
}

function leftoverCells(leftover: Leftover, options: RenderOptions): string[] {
  return [
    `${standingSign('leaked')} Leftover`,
    printable(leftover.name),
    String(leftover.pid),
    `PID ${leftover.ofPid}, gone`,
    NOTHING,
    formatBytes(leftover.rssBytes).text,
    columnAge(options.now - Date.parse(leftover.startedAt)),
    leftover.directory === null ? NOTHING : printable(shortenPath(leftover.directory, options.home)),
  ];
}

/** What a healthy standing does not say. */
function tags(server: Server): string[] {
  const said: string[] = [];
  if (server.health === 'unresponsive') {
    said.push(server.healthDetail === null ? 'unresponsive' : `unresponsive: ${server.healthDetail}`);
  }
  if (server.growing !== null) said.push(server.growing);
  const { state, outdated = null } = server.supervised ?? {};
  if (state === 'starting' || state === 'stopping') said.push(lifeWords(state));
  if (state === 'unresponsive' && server.health !== 'unresponsive') said.push('was to be ended and is still there');
  if (outdated !== null) said.push(`outdated: ${outdated}`);
  if (!server.ownUid) said.push('belongs to another user; it is shown and never signalled');
  return said;
}

function reasonLines(reason: string, options: RenderOptions): string[] {
  const indent = ' '.repeat(INDENT + 2);
  const room = options.width === null ? null : Math.max(20, options.width - indent.length);
  return wrap(printable(reason), room).map((line) => `${indent}${line}`);
}

function alertLines(roll: Roll, options: RenderOptions): string[] {
  // What ended has a section of its own.
  const faults = roll.alerts.filter((alert) => alert.level === 'fault' && alert.ended === undefined);
  return faults.flatMap((alert) => ['', ...wrap(printable(`${alert.title}. ${alert.detail}`), options.width)]);
}

/** What exited unexpectedly: what happened, what happens next, and by which words it is started again or forgotten. */
function endedLines(roll: Roll, options: RenderOptions): string[] {
  if (roll.ended.length === 0) return [];
  const lines = ['', endedTitle(roll.ended)];
  for (const ended of roll.ended) {
    const when = `ended ${clockTime(ended.endedAt, options.now)}`;
    const folder = shortenPath(ended.directory, options.home);
    lines.push(`  ${printable(`${shortNonce(ended)}  ${ended.label}, PID ${ended.pid}, ${when}, ${folder}`)}`);
    lines.push(...reasonLines(endedDetail(ended, options.now), options));
  }
  lines.push(
    ...wrap('rollcall start-again NONCE starts one now, rollcall forget NONCE takes it off the list.', options.width),
  );
  return lines;
}

function recordLines(roll: Roll, options: RenderOptions): string[] {
  if (roll.records.length === 0) return [];
  const lines = ['', roll.records.length === 1 ? '1 stale record' : `${roll.records.length} stale records`];
  for (const record of roll.records) {
    const place =
      record.host === THIS_MACHINE ? shortenPath(record.path, options.home) : `${record.path} on ${record.host}`;
    lines.push(`  ${printable(place)}`, ...reasonLines(record.detail, options));
  }
  return lines;
}

/** What to do next, where there is something to do. */
function footLines(roll: Roll): string[] {
  const totals = leakedTotals(roll);
  if (totals.ids.length === 0) return [];
  return ['', `${leakSentence(totals)}. rollcall reap --all ends what is leaked; rollcall explain PID says why.`];
}

/** Colour is spent on trouble only, and never the only sign. */
function paint(line: string, standing: Server['standing'], options: RenderOptions): string {
  if (!options.colour) return line;
  if (standing === 'leaked') return `\u001b[31m${line}\u001b[39m`;
  if (standing === 'suspect') return `\u001b[33m${line}\u001b[39m`;
  return line;
}

/** Changes exactly when something that matters changed: not with CPU, memory, ages or the time of the look. */
export function rollFingerprint(roll: Roll): string {
  return JSON.stringify([
    roll.hosts.map(({ id, state, detail, ssh }) => [id, state, detail, ssh?.attempt, ssh?.failure?.code]),
    roll.servers
      .map((server) => [
        server.id,
        server.standing,
        server.health,
        server.listening,
        server.owner?.alive ?? null,
        server.supervised?.state,
        server.supervised?.outdated,
        server.sessions,
      ])
      .sort(),
    roll.leftovers.map((leftover) => leftover.id).sort(),
    roll.ended.map(({ nonce, state, attempt, retryAt }) => [nonce, state, attempt, retryAt === null]),
    roll.records.map((record) => [record.path, record.verdict, record.sha256]),
    roll.alerts.map((alert) => alert.title),
    roll.settings.configProblem,
  ]);
}
