import type { HostEntry, Leftover, Permission, Server } from '../../app/roll/schema.ts';
import { actRefusal } from '../../app/text/host-words.ts';
import { serverLabel } from '../../app/text/words.ts';

export const ACTS = [
  'reap',
  'stop',
  'restart',
  'open',
  'copy-url',
  'copy-pid',
  'copy-command',
  'open-log',
  'show-sessions',
  'show-timeline',
] as const;
export type Act = (typeof ACTS)[number];

export interface ActItem<A extends string = Act> {
  readonly act: A;
  /** `…` where a question follows. */
  readonly label: string;
  /** Why it cannot be done now, as a sentence; null when it can. */
  readonly refusal: string | null;
}

function refusal(permission: Permission): string | null {
  return permission.allowed === 'no' ? permission.why : null;
}

/** Why a server has no address to open or copy; null where it has one. */
export function urlRefusal(server: Server, host: HostEntry | undefined): string | null {
  if (server.url !== null && actRefusal(host) === null) return null;
  if (host !== undefined && host.ssh !== null && server.listening.length > 0) {
    return `No tunnel leads to ${serverLabel(server)} on ${server.host} now. It opens again when the host is connected.`;
  }
  return server.url === null ? `${serverLabel(server)} has no address that a browser could open.` : null;
}

/** Why a log cannot be opened as a file; null where it can. */
function logRefusal(server: Server, host: HostEntry | undefined): string | null {
  if (server.supervised?.logPath == null) return `${serverLabel(server)} has no log file.`;
  return host === undefined || host.ssh === null
    ? null
    : `Its log is a file on ${host.name}; the details show the end of it.`;
}

/**
 * Everything a person can do with a server, the likeliest first. What cannot be done stays, with its reason.
 *
 * @param host the server's; acts that need a proof on it are closed while it is not connected
 */
export function serverActs(server: Server, host: HostEntry | undefined): readonly ActItem[] {
  const noUrl = urlRefusal(server, host);
  const away = actRefusal(host);
  const ending: ActItem[] =
    server.standing === 'supervised'
      ? [
          { act: 'stop', label: 'Stop…', refusal: away ?? refusal(server.stop) },
          { act: 'restart', label: 'Restart…', refusal: away ?? refusal(server.restart) },
        ]
      : [{ act: 'reap', label: 'Reap…', refusal: away ?? refusal(server.reap) }];
  const log: ActItem[] =
    server.supervised === null
      ? []
      : [
          {
            act: 'open-log',
            label: 'Open log',
            refusal: logRefusal(server, host),
          },
        ];
  return [
    ...ending,
    { act: 'open', label: 'Open in browser', refusal: noUrl },
    { act: 'copy-url', label: 'Copy URL', refusal: noUrl },
    ...log,
    { act: 'copy-pid', label: 'Copy PID', refusal: null },
    { act: 'copy-command', label: 'Copy command line', refusal: null },
    { act: 'show-sessions', label: 'Show its sessions', refusal: null },
    { act: 'show-timeline', label: 'Show in timeline', refusal: null },
  ];
}

export function leftoverActs(leftover: Leftover, host: HostEntry | undefined): readonly ActItem[] {
  return [
    { act: 'reap', label: 'Reap…', refusal: actRefusal(host) ?? refusal(leftover.reap) },
    { act: 'copy-pid', label: 'Copy PID', refusal: null },
    { act: 'copy-command', label: 'Copy command line', refusal: null },
  ];
}

/**
 * The acts that get a button in the details: at most three, and a refused one only if it is the first. Where one reason
 * closes the first two, the usual three stay, so that it is seen what is closed.
 */
export function buttonActs<A extends string>(acts: readonly ActItem<A>[]): readonly ActItem<A>[] {
  const [first, second] = acts;
  if (first !== undefined && first.refusal !== null && second?.refusal === first.refusal) return acts.slice(0, 3);
  return acts.filter((item, index) => index === 0 || item.refusal === null).slice(0, 3);
}
