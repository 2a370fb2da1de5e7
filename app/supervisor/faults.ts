/** What keeps Rollcall itself from its work, as alerts. Pure. */
import type { Alert } from '../roll/schema.ts';

export interface Troubles {
  /** Why the last look failed; null when it did not. Likewise below. */
  readonly look: string | null;
  readonly audit: string | null;
  readonly records: string | null;
  /** Something that nobody awaits: writing the memory down, following the settings. */
  readonly aside: string | null;
}

function fault(id: string, title: string, detail: string): Alert {
  return { id, level: 'fault', title, detail, act: 'none', servers: [] };
}

export function faultsOf({ look, audit, records, aside }: Troubles): Alert[] {
  return [
    ...(look === null ? [] : [fault('no-look', 'local could not be looked at', look)]),
    ...(audit === null
      ? []
      : [fault('audit', 'The audit cannot be written', `${audit} Until it can, nothing is signalled.`)]),
    ...(records === null
      ? []
      : [
          fault(
            'records',
            'Records cannot be kept',
            `${records} Until then nothing can be started, and what happens here is not written down.`,
          ),
        ]),
    ...(aside === null ? [] : [fault('aside', 'Something went wrong on the side', aside)]),
  ];
}
