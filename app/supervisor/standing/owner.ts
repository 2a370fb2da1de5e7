/**
 * On whose behalf a server runs: its nearest ancestor that is no wrapper, no init and no adopter of orphans.
 * Pure; memory of owners that have gone is handed in.
 */
import type { Look, ProcessInfo } from '../../hosts/host.ts';
import { recognisable } from '../../servers/recognition/group.ts';
import { isPlainWrapper, mayBePlainWrapper } from '../../servers/recognition/wrappers.ts';
import { clockTime } from '../../text/words.ts';
import { ownerLabel } from './owner-label.ts';
import type { OwnerFact } from './standing.ts';

/** What is remembered of the last owner that was seen alive. */
export interface RememberedOwner {
  readonly label: string;
  readonly pid: number;
  readonly key: string;
  readonly gone: boolean;
  /** Milliseconds since the epoch; null while it lives, and where nobody saw it go. */
  readonly endedAt: number | null;
}

export interface OwnerSearch {
  readonly fact: OwnerFact;
  /** The living owner; null when there is none. */
  readonly process: ProcessInfo | null;
}

/** Programs that are made to be the first process and to take in orphans. */
const INITS: ReadonlySet<string> = new Set([
  'init',
  'systemd',
  'tini',
  'dumb-init',
  'docker-init',
  'catatonit',
  's6-svscan',
  'runit',
  'openrc-init',
  'launchd',
]);

/**
 * An adopter is a process that took in an orphan: an init, or the kernel's subreaper. Where the program does not tell,
 * the sessions do: the server's session leader is gone and its parent lives in another one. A parent by birth shares
 * the session, unless the child leads its own. The first process of a container may be somebody's program, and then
 * it is a parent like any other.
 */
export function isAdopter(parent: ProcessInfo, child: ProcessInfo, look: Look): boolean {
  if (parent.pid === 1) return INITS.has(parent.comm) || parent.session !== child.session;
  if (look.reapers.includes(parent.pid)) return true;
  if (child.session === child.pid || parent.session === child.session) return false;
  const leader = look.processes.get(child.session);
  return leader === undefined || leader.session !== child.session;
}

/**
 * @param top PID of the server's topmost process (its outermost wrapper)
 * @param serverLabel names an ancestor that is itself a server; null for one that is none
 */
export function findOwner(
  top: number,
  look: Look,
  remembered: RememberedOwner | null,
  serverLabel: (pid: number) => string | null,
): OwnerSearch {
  let child = look.processes.get(top);
  if (child === undefined) {
    return { fact: { state: 'unknown', why: 'its process vanished during the look' }, process: null };
  }
  const wrappers: ProcessInfo[] = [];
  for (let steps = 0; steps < 64; steps += 1) {
    if (child.ppid === 0) {
      return {
        fact:
          child.pid === 1
            ? gone('its parent is init (PID 1)', remembered, look.takenAt)
            : { state: 'unknown', why: 'its parent is outside the PID namespace that is looked at' },
        process: null,
      };
    }
    const parent: ProcessInfo | undefined = look.processes.get(child.ppid);
    if (parent === undefined) {
      return {
        fact:
          child.ppid === 1
            ? gone(orphanSentence('init (PID 1)', wrappers), remembered, look.takenAt)
            : { state: 'unknown', why: `its parent, PID ${child.ppid}, could not be read` },
        process: null,
      };
    }
    if (isAdopter(parent, child, look)) {
      const name = parent.pid === 1 ? 'init (PID 1)' : adopterName(parent);
      return { fact: gone(orphanSentence(name, wrappers), remembered, look.takenAt), process: null };
    }
    const server = serverLabel(parent.pid);
    if (server !== null) return alive(parent, server);
    const program = recognisable(parent);
    if (mayBePlainWrapper(program)) {
      const why = `its parent, PID ${parent.pid}, looks like a shell or npx, but its program could not be read`;
      return { fact: { state: 'unknown', why }, process: null };
    }
    if (!isPlainWrapper(program)) return alive(parent, ownerLabel(parent));
    wrappers.push(parent);
    child = parent;
  }
  return { fact: { state: 'unknown', why: 'its chain of parents is longer than 64' }, process: null };
}

function adopterName(parent: ProcessInfo): string {
  return parent.comm === 'systemd'
    ? "the user's systemd"
    : `${ownerLabel(parent)} (PID ${parent.pid}), which adopted it`;
}

function alive(process: ProcessInfo, label: string): OwnerSearch {
  return {
    fact: { state: 'alive', label, pid: process.pid, fact: `its owner ${label}, PID ${process.pid}, is alive` },
    process,
  };
}

function orphanSentence(adopter: string, wrappers: readonly ProcessInfo[]): string {
  const wrapper = wrappers.at(-1);
  return wrapper === undefined
    ? `its parent is ${adopter}: whoever started it has exited`
    : `its parent chain ends in an orphaned ${ownerLabel(wrapper)}, PID ${wrapper.pid}, under ${adopter}`;
}

function gone(structure: string, remembered: RememberedOwner | null, now: number): OwnerFact {
  if (remembered === null) return { state: 'gone', label: null, pid: null, endedAt: null, fact: structure };
  const when =
    remembered.endedAt === null
      ? 'has exited'
      : `exited at ${clockTime(new Date(remembered.endedAt).toISOString(), now)}`;
  return {
    state: 'gone',
    label: remembered.label,
    pid: remembered.pid,
    endedAt: remembered.endedAt,
    fact: `its owner ${remembered.label}, PID ${remembered.pid}, ${when}; ${structure}`,
  };
}
