/** What keeps Rollcall itself from its work, as alerts. Pure. */
import { LOCAL_HOST } from '../config/schema.ts';
import type { Alert } from '../roll/schema.ts';
import { plural } from '../roll/words.ts';

export interface Troubles {
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
}

function fault(id: string, title: string, detail: string, act: Alert['act'] = 'none'): Alert {
  return { id, level: 'fault', title, detail, act, servers: [] };
}

/** Alerts of two hosts are two. */
function idOf(id: string, host: string): string {
  return host === LOCAL_HOST ? id : `${id}-${host}`;
}

function guardFault({ why, unguarded }: NonNullable<Troubles['guard']>): Alert {
  const servers = unguarded === 0 ? 'servers that you start' : plural(unguarded, 'local server');
  const detail = `If Rollcall crashed now, ${servers} would be left behind. ${why}`;
  return fault('guard', 'The guard does not run', detail, 'start-guard');
}

export function faultsOf({ host, look, audit, records, aside, guard }: Troubles): Alert[] {
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
    ...(guard === null ? [] : [guardFault(guard)]),
    ...(aside === null ? [] : [fault(idOf('aside', host), 'Something went wrong on the side', aside)]),
  ];
}
