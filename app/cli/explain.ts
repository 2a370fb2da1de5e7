import type { Check, Leftover, ProcessRow, RecordEntry, Roll, Server } from '../roll/schema.ts';
import { lifeWords } from '../text/ended-words.ts';
import { THIS_MACHINE } from '../text/host-words.ts';
import { clockTime, formatBytes, leftoverName, rowName, standingSign } from '../text/words.ts';
import { type CommandRun, DONE, FAILED } from './io.ts';
import { printable } from './table.ts';
import { type CliTarget, checkTarget, findTarget } from './targets.ts';
import { hostOption, pidHost, reach, rowHost } from './where.ts';

const SIGNS: Readonly<Record<Check['result'], string>> = { holds: '✓', 'does-not-hold': '✗', 'could-not-run': '?' };

export const explain: CommandRun = async ({ io, open }, args) => {
  const word = args.positionals[0] ?? '';
  checkTarget(word);
  const host = hostOption(args);
  const handle = await open('read');
  try {
    const problem = await reach(handle.core, host);
    if (problem !== null) {
      io.say(problem);
      if (args.has('json'))
        await io.out(`${JSON.stringify({ server: null, leftover: null, text: problem, records: [] }, null, 2)}\n`);
      return FAILED;
    }
    const target = await findTarget(handle.core, word, pidHost(handle.core.roll, host));
    const { roll } = handle.core;
    const place =
      target.found === 'server' ? target.server.host : target.found === 'leftover' ? target.leftover.host : null;
    const records = recordsOf(roll, target.pid, place ?? rowHost(roll, host ?? THIS_MACHINE));
    if (args.has('json')) await io.out(`${JSON.stringify(explanationJson(target, records), null, 2)}\n`);
    else await io.out(`${explanationLines(target, records, Date.now()).map(printable).join('\n')}\n`);
    return target.found === 'nothing' ? FAILED : DONE;
  } finally {
    await handle.close();
  }
};

/** Stale records of that host that name this PID: the reason why somebody may ask for it. */
function recordsOf(roll: Roll, pid: number, host: string): RecordEntry[] {
  return roll.records.filter((record) => record.pid === pid && pid > 0 && record.host === host);
}

function explanationJson(target: CliTarget, records: readonly RecordEntry[]): object {
  return {
    server: target.found === 'server' ? target.server : null,
    leftover: target.found === 'leftover' ? target.leftover : null,
    text: target.found === 'nothing' ? target.text : '',
    records,
  };
}

function explanationLines(target: CliTarget, records: readonly RecordEntry[], now: number): string[] {
  const lines =
    target.found === 'server'
      ? serverLines(target.server, now)
      : target.found === 'leftover'
        ? leftoverLines(target.leftover, now)
        : [target.text];
  if (records.length > 0) {
    lines.push('', 'Records');
    for (const record of records) lines.push(`  ${record.path}`, `    ${record.detail}`);
  }
  return lines;
}

function serverLines(server: Server, now: number): string[] {
  const lines = [
    `${standingSign(server.standing)} ${rowName(server)}, PID ${server.pid}, is ${server.standing}.`,
    ...server.reasons.map((reason) => `  ${reason}`),
    '',
    'Why',
    ...server.checks.map((check) => `  ${SIGNS[check.result]} ${check.label}: ${check.fact}`),
    '',
    'About',
    `  id         ${server.id}`,
    `  started    ${clockTime(server.startedAt, now)}`,
    ...(server.supervised === null ? [] : [`  state      ${lifeWords(server.supervised.state)}`]),
    `  health     ${server.health}${server.healthDetail === null ? '' : `: ${server.healthDetail}`}`,
    `  memory     ${formatBytes(server.memoryBytes).text}`,
    `  directory  ${server.directory ?? '–'}`,
    `  command    ${server.command.join(' ')}`,
  ];
  if (server.url !== null) lines.push(`  url        ${server.url}`);
  if (server.supervised !== null) {
    const { recordPath, logPath, outdated } = server.supervised;
    lines.push(`  record     ${recordPath}`, `  log        ${logPath ?? '–'}`);
    if (outdated !== null) lines.push(`  outdated   ${outdated} A restart would renew it.`);
  }
  lines.push(...processLines(server.processes), '', 'What can be done');
  for (const [act, permission] of [
    ['reap', server.reap],
    ['stop', server.stop],
    ['restart', server.restart],
  ] as const) {
    lines.push(`  ${act.padEnd(7)}  ${permissionWords(permission)}`);
  }
  return lines;
}

function permissionWords(permission: Server['reap']): string {
  switch (permission.allowed) {
    case 'yes':
      return 'yes';
    case 'confirm':
      return `after a confirmation. ${permission.why}`;
    case 'force':
      return `only with --force. ${permission.why}`;
    case 'no':
      return `no. ${permission.why}`;
  }
}

function leftoverLines(leftover: Leftover, now: number): string[] {
  return [
    `${standingSign('leaked')} ${leftoverName(leftover)} is a leftover of ${leftover.kind}, PID ${leftover.ofPid}.`,
    ...leftover.reasons.map((reason) => `  ${reason}`),
    '',
    'About',
    `  id         ${leftover.id}`,
    `  started    ${clockTime(leftover.startedAt, now)}`,
    `  memory     ${formatBytes(leftover.rssBytes).text}`,
    `  directory  ${leftover.directory ?? '–'}`,
    `  command    ${leftover.command}`,
    ...processLines(leftover.processes),
  ];
}

function processLines(processes: readonly ProcessRow[]): string[] {
  if (processes.length === 0) return [];
  return [
    '',
    'Processes',
    ...processes.map((row) => {
      const memory = formatBytes(row.pssBytes ?? row.rssBytes).text;
      return `  ${'  '.repeat(row.depth)}${row.pid}  ${row.role}  ${memory}  ${row.command}`;
    }),
  ];
}
