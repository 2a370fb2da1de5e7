/** Processes and sockets of a machine without /proc, from what its ps and lsof print. Pure. */
import type { Observation, Observer } from '../../../identity/identity.ts';
import { evidenceOf, type ListedConnection } from '../../ps/portable-look.ts';
import { type ListedProcess, parseProgramFiles, parsePs } from '../../ps/portable-processes.ts';
import type { ScriptAnswer } from './shell.ts';

/** What was found at a PID, with what a verdict does not need. */
export type SeenProcess = Observation & { readonly uid?: number };

export interface Usage {
  readonly memRss: number;
  readonly cpu: number;
}

/** `PID words` per line. */
function byPid(text: string): Map<number, string> {
  const rows = new Map<number, string>();
  for (const line of text.split('\n')) {
    const [, pid, rest] = /^\s*(\d+)\s+(.*)$/u.exec(line) ?? [];
    if (pid !== undefined && rest !== undefined) rows.set(Number(pid), rest.trim());
  }
  return rows;
}

/** Every process that an answer of `ps.sh` lists; null when ps failed to tell, which is no absence. */
export function listedIn(answer: ScriptAnswer): ListedProcess[] | null {
  const rows = answer.bytes('rows')?.toString('utf8');
  if (rows === undefined) return null;
  const programs = parseProgramFiles(answer.bytes('programs')?.toString('utf8') ?? '');
  return parsePs(rows, (pid) => programs.get(pid) ?? null);
}

/** Memory in kilobytes and percent of a core, by PID. */
export function usageIn(answer: ScriptAnswer): ReadonlyMap<number, Usage> {
  const usage = new Map<number, Usage>();
  for (const [pid, words] of byPid(answer.bytes('usage')?.toString('utf8') ?? '')) {
    const [memRss, cpu] = words.split(/\s+/u).map(Number);
    if (memRss !== undefined && cpu !== undefined) usage.set(pid, { memRss, cpu });
  }
  return usage;
}

/** `127.0.0.1:4096`, `[::1]:4096` or `*:4096` in parts. */
function ended(text: string): { readonly address: string; readonly port: string } | null {
  const [, address, port] = /^(.*):(\d+)$/u.exec(text) ?? [];
  if (address === undefined || port === undefined) return null;
  return { address: address === '*' ? '0.0.0.0' : address.replace(/^\[(.*)\]$/u, '$1'), port };
}

/** TCP sockets that lsof tells; null where there is no lsof. Of other users' processes it tells nothing. */
export function connectionsIn(answer: ScriptAnswer): ListedConnection[] | null {
  const text = answer.text('sockets');
  if (text === null) return null;
  const connections: ListedConnection[] = [];
  let pid = 0;
  let name = '';
  for (const line of text.split('\n')) {
    const rest = line.slice(1);
    if (line.startsWith('p')) pid = Number(rest);
    else if (line.startsWith('n')) name = rest;
    else if (line.startsWith('TST=')) {
      const [near, far] = name.split('->').map(ended);
      if (near == null) continue;
      connections.push({
        localAddress: near.address,
        localPort: near.port,
        peerAddress: far?.address ?? '',
        peerPort: far?.port ?? '',
        state: line.slice('TST='.length),
        pid,
      });
    }
  }
  return connections;
}

/** What an answer of `ps.sh` says of a PID. */
export function listedSeen(answer: ScriptAnswer, pid: number, observer: Observer): SeenProcess {
  const rows = listedIn(answer);
  if (rows === null)
    return { found: 'failed', why: `its ps cannot be used: ${answer.text('failed') ?? 'it said nothing'}` };
  const row = rows.find((each) => each.pid === pid);
  if (row === undefined) return { found: 'absent' };
  return {
    found: 'process',
    identity: { ...observer, pid, startTime: row.startTime },
    evidence: evidenceOf(row),
    name: { pid, name: row.executable?.path ?? row.commandLine.split(' ')[0] ?? '', startedAt: row.startedAt },
    finished: row.state === 'Z',
    ...(row.uid === null ? {} : { uid: row.uid }),
  };
}

/** The line that `ps.sh` must find before it signals: uid, start and arguments, in single blanks. */
export function psLine(row: ListedProcess): string {
  const start = row.startTime.replace(/^darwin:/u, '');
  return `${row.uid} ${start} ${row.commandLine}`.split(/\s+/u).filter(Boolean).join(' ');
}
