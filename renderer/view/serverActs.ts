import type { Leftover, Permission, Server } from '../../app/roll/schema.ts';
import { serverLabel } from '../../app/roll/words.ts';

export const ACTS = ['reap', 'stop', 'restart', 'open', 'copy-url', 'copy-pid', 'copy-command', 'open-log'] as const;
export type Act = (typeof ACTS)[number];

export interface ActItem {
  readonly act: Act;
  /** `…` where a question follows. */
  readonly label: string;
  /** Why it cannot be done now, as a sentence; null when it can. */
  readonly refusal: string | null;
}

function refusal(permission: Permission): string | null {
  return permission.allowed === 'no' ? permission.why : null;
}

/** Everything a person can do with a server, the likeliest first. What cannot be done stays, with its reason. */
export function serverActs(server: Server): readonly ActItem[] {
  const name = serverLabel(server);
  const noUrl = server.url === null ? `${name} has no address that a browser could open.` : null;
  const ending: ActItem[] =
    server.standing === 'supervised'
      ? [
          { act: 'stop', label: 'Stop…', refusal: refusal(server.stop) },
          { act: 'restart', label: 'Restart…', refusal: refusal(server.restart) },
        ]
      : [{ act: 'reap', label: 'Reap…', refusal: refusal(server.reap) }];
  const log: ActItem[] =
    server.supervised === null
      ? []
      : [
          {
            act: 'open-log',
            label: 'Open log',
            refusal: server.supervised.logPath === null ? `${name} has no log file.` : null,
          },
        ];
  return [
    ...ending,
    { act: 'open', label: 'Open in browser', refusal: noUrl },
    { act: 'copy-url', label: 'Copy URL', refusal: noUrl },
    ...log,
    { act: 'copy-pid', label: 'Copy PID', refusal: null },
    { act: 'copy-command', label: 'Copy command line', refusal: null },
  ];
}

export function leftoverActs(leftover: Leftover): readonly ActItem[] {
  return [
    { act: 'reap', label: 'Reap…', refusal: refusal(leftover.reap) },
    { act: 'copy-pid', label: 'Copy PID', refusal: null },
    { act: 'copy-command', label: 'Copy command line', refusal: null },
  ];
}

/** The acts that get a button in the details: at most three, and a refused one only if it is the first. */
export function buttonActs(acts: readonly ActItem[]): readonly ActItem[] {
  return acts.filter((item, index) => index === 0 || item.refusal === null).slice(0, 3);
}
