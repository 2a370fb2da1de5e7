/**
 * The processes of a machine without procfs, by its own lister: `ps` on macOS and other Unixes, CIM through PowerShell
 * on Windows. Where it runs as another user than ours is said; what cannot be told is null, never guessed.
 *
 * The Windows side and lsof on macOS could not be tried where this was written; see docs/verified.md.
 */

import { execFile } from 'node:child_process';
import { readlinkSync, statSync } from 'node:fs';
import type { Executable, StartTime } from '../../identity/identity.ts';
import { messageOf } from '../../util/errors.ts';
import { LookFailed } from '../host.ts';

const DEADLINE_MS = 5000;
/** PowerShell alone takes a second to start. */
const POWERSHELL_DEADLINE_MS = 20_000;
const LISTING_BYTES = 64 * 1024 * 1024;

/** One process as the lister tells it. */
export interface ListedProcess {
  readonly pid: number;
  readonly ppid: number;
  readonly pgrp: number;
  /** Null where the system has none. */
  readonly uid: number | null;
  readonly state: string;
  readonly startTime: StartTime;
  /** Milliseconds since the epoch, of one second's resolution on Unix; for people. */
  readonly startedAt: number;
  /** Arguments joined by blanks, as the lister prints them: where one ends cannot be told. */
  readonly commandLine: string;
  readonly executable: Executable | null;
}

/** One option for each: to BSD's ps, what follows an equals sign is a heading, commas and all. */
function columns(...names: readonly string[]): string[] {
  return names.flatMap((name) => ['-o', `${name}=`]);
}

/** The start is five words in the C locale; before the arguments there is nothing that a process can choose. */
const PS_COLUMNS = columns('pid', 'ppid', 'pgid', 'uid', 'state', 'lstart', 'args');
const PS_ROW = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(-?\d+)\s+(\S)\S*\s+(\w{3}\s+\w{3}\s+\d+\s+[\d:]{8}\s+\d{4})(?: (.*))?$/u;

/** Parses the rows of `ps -ww` with the columns above; a line that is none is left out. */
export function parsePs(text: string, executableOf: (pid: number) => Executable | null): ListedProcess[] {
  const rows: ListedProcess[] = [];
  for (const line of text.split('\n')) {
    const [, pid, ppid, pgrp, uid, state, lstart, args] = PS_ROW.exec(line) ?? [];
    if (lstart === undefined || state === undefined) continue;
    const started = lstart.replace(/\s+/gu, ' ');
    rows.push({
      pid: Number(pid),
      ppid: Number(ppid),
      pgrp: Number(pgrp),
      uid: Number(uid),
      state,
      startTime: `darwin:${started}`,
      startedAt: Date.parse(`${started} UTC`),
      commandLine: (args ?? '').trim(),
      executable: executableOf(Number(pid)),
    });
  }
  return rows;
}

/** One line per process from CIM: PID, parent, creation in .NET ticks of UTC, then tab-separated path and arguments. */
const CIM_LINE = `'{0} {1} {2}' -f $_.ProcessId, $_.ParentProcessId, $_.CreationDate.ToUniversalTime().Ticks`;
const CIM_ROW = /^(\d+) (\d+) (\d+)\t([^\t]*)\t(.*)$/u;
/** .NET ticks are 100 ns since the year 1. */
const EPOCH_TICKS = 621_355_968_000_000_000n;

export function parseCim(text: string, executableAt: (path: string) => Executable | null): ListedProcess[] {
  const rows: ListedProcess[] = [];
  for (const line of text.split(/\r?\n/u)) {
    const [, pid, ppid, ticks, path, commandLine] = CIM_ROW.exec(line) ?? [];
    if (ticks === undefined || path === undefined || commandLine === undefined) continue;
    rows.push({
      pid: Number(pid),
      ppid: Number(ppid),
      pgrp: 0,
      uid: null,
      state: 'S',
      startTime: `win:${ticks}`,
      startedAt: Number((BigInt(ticks) - EPOCH_TICKS) / 10_000n),
      commandLine: commandLine.trim(),
      executable: path === '' ? null : executableAt(path),
    });
  }
  return rows;
}

interface Output {
  readonly code: number | string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The C locale and UTC are forced, for the text of a start is compared (C12). Rejects when it cannot be run. */
export function runLister(program: string, args: readonly string[], timeout = DEADLINE_MS): Promise<Output> {
  const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
  return new Promise((resolve, reject) => {
    execFile(program, args, { env, timeout, maxBuffer: LISTING_BYTES, windowsHide: true }, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') reject(error);
      else resolve({ code: error?.code ?? 0, stdout, stderr });
    });
  });
}

/** A program's file as evidence; null when it is gone or may not be read. */
export function executableAt(path: string): Executable | null {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return { path, device: String(dev), inode: String(ino) };
  } catch {
    return null; // replaced, removed or not for us: evidence that is missing is never taken to agree
  }
}

/** Options under which lsof prints the file that each process runs. Its `comm`, as that of ps, is what a process calls itself. */
const PROGRAM_FILES = ['-nPw', '-a', '-d', 'txt', '-F', 'pfDin'] as const;

/**
 * The programs that `lsof -d txt -F pfDin` names, by PID: the first file of text of each process, with its device in
 * hexadecimal. One that lacks device or inode could not be read and is left out. Pure.
 */
export function parseProgramFiles(text: string): ReadonlyMap<number, Executable> {
  const programs = new Map<number, Executable>();
  for (const block of text.split(/^p/mu).slice(1)) {
    const [pid = '', , ...fields] = block.split('\n');
    const next = fields.findIndex((field) => field.startsWith('f'));
    const file = next < 0 ? fields : fields.slice(0, next);
    const of = (letter: string): string | undefined => file.find((field) => field.startsWith(letter))?.slice(1);
    const [device, inode, path] = [of('D'), of('i'), of('n')];
    if (device === undefined || !/^0x[0-9a-f]+$/u.test(device) || inode === undefined || path === undefined) continue;
    programs.set(Number(pid), { path, device: String(BigInt(device)), inode });
  }
  return programs;
}

/** The kernel's own word for what each process runs: a link in procfs on Linux, where tests run, else what lsof reads. */
async function executables(pid: number | null): Promise<(pid: number) => Executable | null> {
  if (process.platform === 'linux') {
    return (each) => {
      try {
        const link = `/proc/${each}/exe`;
        const { dev, ino } = statSync(link, { bigint: true });
        return { path: readlinkSync(link), device: String(dev), inode: String(ino) };
      } catch {
        return null; // gone, a kernel thread or another user's
      }
    };
  }
  // It ends with 1 also where it could read some processes only; without it nothing is known of any program.
  const selection = pid === null ? [] : ['-p', String(pid)];
  const { stdout } = await runLister('lsof', [...PROGRAM_FILES, ...selection]).catch(() => ({ stdout: '' }));
  const programs = parseProgramFiles(stdout);
  return (each) => programs.get(each) ?? null;
}

async function list(pid: number | null): Promise<ListedProcess[]> {
  if (process.platform === 'win32') {
    const filter = pid === null ? '' : ` -Filter 'ProcessId=${pid}'`;
    const script =
      `[Console]::OutputEncoding=[Text.Encoding]::UTF8; Get-CimInstance Win32_Process${filter} | ` +
      `Where-Object CreationDate | ForEach-Object { (${CIM_LINE}), $_.ExecutablePath, ` +
      `($_.CommandLine -replace '[\\t\\r\\n]', ' ') -join "\`t" }`;
    const args = ['-NoProfile', '-NonInteractive', '-Command', script];
    const { code, stdout, stderr } = await runLister('powershell.exe', args, POWERSHELL_DEADLINE_MS);
    if (code !== 0) throw new Error(stderr.trim() || `powershell.exe ended with ${code}`);
    return parseCim(stdout, executableAt);
  }
  const selection = pid === null ? ['-ax'] : ['-p', String(pid)];
  const { code, stdout, stderr } = await runLister('ps', ['-ww', ...selection, ...PS_COLUMNS]);
  // `ps -p` answers 1 and says nothing when there is no such process; anything else is a failure, not an absence.
  if (code !== 0 && !(pid !== null && code === 1 && stderr.trim() === '')) {
    throw new Error(stderr.trim() || `ps ended with ${code}`);
  }
  return parsePs(stdout, await executables(pid));
}

/** Every process. Rejects with `LookFailed`; an empty listing is a failure too, for the lister itself runs. */
export async function listProcesses(): Promise<ListedProcess[]> {
  try {
    const rows = await list(null);
    if (rows.length === 0) throw new Error('the lister named no process');
    return rows;
  } catch (error) {
    throw new LookFailed(messageOf(error), error);
  }
}

/** One process; null when it is not there. Rejects with `LookFailed` when that cannot be told. */
export async function listOne(pid: number): Promise<ListedProcess | null> {
  try {
    return (await list(pid)).find((row) => row.pid === pid) ?? null;
  } catch (error) {
    throw new LookFailed(messageOf(error), error);
  }
}

/**
 * Whether a process belongs to the user we run as, on Windows, where a listing does not tell: an administrator could
 * otherwise end the processes of others. Rejects when it cannot be told.
 */
export async function isOwnOnWindows(pid: number): Promise<boolean> {
  const script =
    `$p = Get-CimInstance Win32_Process -Filter 'ProcessId=${pid}'; ` +
    '$owner = (Invoke-CimMethod -InputObject $p -MethodName GetOwnerSid).Sid; ' +
    "if ($owner -eq [Security.Principal.WindowsIdentity]::GetCurrent().User.Value) { 'own' }";
  const args = ['-NoProfile', '-NonInteractive', '-Command', script];
  const { stdout } = await runLister('powershell.exe', args, POWERSHELL_DEADLINE_MS);
  return stdout.trim() === 'own';
}
