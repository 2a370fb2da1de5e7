/** The processes of one test sshd, found in /proc from the process we started and by the mark in their environment. */

import { readdirSync, readFileSync } from 'node:fs';
import { codeOf } from '../../../util/errors.ts';
import { parseStat } from '../../local/procfs/stat.ts';

export interface Found {
  readonly pid: number;
  readonly ppid: number;
  readonly comm: string;
  readonly startTicks: string;
}

function statOf(pid: number): Found | null {
  try {
    const stat = parseStat(readFileSync(`/proc/${pid}/stat`));
    return stat === null || stat.state === 'Z' || stat.state === 'X' ? null : stat;
  } catch {
    return null; // ended while we looked
  }
}

function everyProcess(): Found[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .map((name) => statOf(Number(name)))
    .filter((found) => found !== null);
}

/** Everything that descends from a process, itself included, parents first. Zombies are left out. */
export function treeOf(root: number): Found[] {
  const all = everyProcess();
  const tree = all.filter(({ pid }) => pid === root);
  for (const parent of tree) tree.push(...all.filter(({ ppid }) => ppid === parent.pid));
  return tree;
}

/** Every process whose environment at its start held `name=value`. */
export function markedWith(name: string, value: string): Found[] {
  const needle = `\0${name}=${value}\0`;
  return everyProcess().filter(({ pid }) => {
    try {
      return `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`.includes(needle);
    } catch {
      return false; // ended, or somebody else's
    }
  });
}

/** Signals a process that was found, if the number still means it. */
export function signalFound({ pid, startTicks }: Found, signal: NodeJS.Signals): void {
  if (statOf(pid)?.startTicks !== startTicks) return;
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}
