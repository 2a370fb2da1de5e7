/** What keeps Rollcall itself from its work, as alerts. Pure. */
import { LOCAL_HOST } from '../config/schema.ts';
import type { UnprovedProcess } from '../hosts/host.ts';
import type { Alert } from '../roll/schema.ts';
import { plural } from '../text/words.ts';

export interface Problems {
  /** Name of the host it concerns. */
  readonly host: string;
  /** Why the last look failed; null when it did not. Likewise below. */
  readonly look: string | null;
  readonly audit: string | null;
  readonly records: string | null;
  /** Something that nobody awaits: writing the memory down, following the settings. */
  readonly aside: string | null;
  /** Why the guard does not run, and how many local servers a crash would leave behind now. */
  readonly guard: { readonly why: string; readonly unguarded: number } | null;
  /** Processes that cannot be recognised, because their programs cannot be read. */
  readonly unproved: readonly UnprovedProcess[];
}

function fault(id: string, title: string, detail: string, act: Alert['act'] = 'none'): Alert {
  return { id, level: 'fault', title, detail, act, servers: [] };
}

/** Alerts of two hosts are two. */
function idOf(id: string, host: string): string {
  return host === LOCAL_HOST ? id : `${id}-${host}`;
}

function guardFault({ why, unguarded }: NonNullable<Problems['guard']>): Alert {
  const servers = unguarded === 0 ? 'servers that you start' : plural(unguarded, 'local server');
  const detail = `If Rollcall crashed now, ${servers} would be left behind. ${why}`;
  return fault('guard', 'The guard does not run', detail, 'start-guard');
}

/** Why a process is not recognised, and what to do. */
export function unprovedSentence({ pid, kind, why }: UnprovedProcess, host: string): string {
  const reason = `PID ${pid} has the arguments of ${kind}, but it is not recognised: its program cannot be read.`;
  switch (why) {
    case 'denied':
      return `${reason} Run “ls -l /proc/${pid}/exe” as root on ${host} to see what it is; Rollcall leaves it alone.`;
    case 'no-lsof':
      return `${reason} Install lsof on ${host}; until then Rollcall leaves it alone.`;
    case 'no-stat':
      return `${reason} Install a stat that knows -L and -c (coreutils or BusyBox) on ${host}; until then Rollcall leaves it alone.`;
  }
}

function unprovedAlert(unproved: readonly UnprovedProcess[], host: string): Alert[] {
  const [first] = unproved;
  if (first === undefined) return [];
  const title = `${plural(unproved.length, 'process', 'processes')} on ${host} not recognised`;
  return [
    {
      id: idOf('unproved', host),
      level: 'notice',
      title,
      detail: unprovedSentence(first, host),
      act: 'none',
      servers: [],
    },
  ];
}

export function faultsOf({ host, look, audit, records, aside, guard, unproved }: Problems): Alert[] {
  return [
    ...(look === null ? [] : [fault(idOf('no-look', host), `${host} could not be looked at`, look)]),
    ...(audit === null
      ? []
      : [fault('audit', 'The audit cannot be written', `${audit} Until it can, nothing is signalled.`)]),
    ...(records === null
      ? []
      : [
          fault(
            idOf('records-unkept', host),
            host === LOCAL_HOST ? 'Records cannot be kept' : `Records cannot be kept on ${host}`,
            `${records} Until then nothing can be started, and what happens here is not written down.`,
          ),
        ]),
    ...unprovedAlert(unproved, host),
    ...(guard === null ? [] : [guardFault(guard)]),
    ...(aside === null ? [] : [fault(idOf('aside', host), 'Something went wrong on the side', aside)]),
  ];
}
