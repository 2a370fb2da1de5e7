import type { HostEntry, Permission, Server, Session } from '../../app/roll/schema.ts';
import { actRefusal } from '../../app/text/host-words.ts';
import { type ActItem, urlRefusal } from './serverActs.ts';

export type SessionAct =
  | 'open'
  | 'copy-attach'
  | 'abort'
  | 'end'
  | 'show-server'
  | 'show-timeline'
  | 'copy-id'
  | 'copy-directory';

/** Why a permission closes an act; null where it does not. */
function closed(permission: Permission): string | null {
  return permission.allowed === 'no' ? permission.why : null;
}

function asks(permission: Permission): boolean {
  return permission.allowed === 'confirm' || permission.allowed === 'force';
}

/** What carries it, in the midst of a sentence or at its beginning. */
function carrierOf({ carrier, kind }: Session): string {
  return carrier === '' ? kind : carrier;
}

/** Why a session cannot be opened in a browser; null where it can. */
export function openRefusal(session: Session, server: Server | null, host: HostEntry | undefined): string | null {
  if (session.state === 'ended') return 'It has ended: nothing serves it any more.';
  if (server === null) return `${carrierOf(session)} has no address that a browser could open.`;
  return urlRefusal(server, host);
}

/**
 * Everything a person can do with a session, the likeliest first. What cannot be done stays, with its reason.
 *
 * @param server the one that carries it; null where there is none
 * @param host the session's
 */
export function sessionActs(
  session: Session,
  server: Server | null,
  host: HostEntry | undefined,
): readonly ActItem<SessionAct>[] {
  // What has ended needs no host to say so.
  const away = session.state === 'ended' ? null : actRefusal(host);
  return [
    { act: 'open', label: 'Open in browser', refusal: openRefusal(session, server, host) },
    {
      act: 'copy-attach',
      label: 'Copy attach command',
      refusal: session.attach === null ? `No command attaches a terminal to a session of ${carrierOf(session)}.` : null,
    },
    { act: 'abort', label: asks(session.abort) ? 'Abort…' : 'Abort', refusal: away ?? closed(session.abort) },
    { act: 'end', label: 'End…', refusal: away ?? closed(session.end) },
    {
      act: 'show-server',
      label: 'Show server',
      refusal: server === null ? 'No server in the list carries it.' : null,
    },
    { act: 'show-timeline', label: 'Show in timeline', refusal: null },
    { act: 'copy-id', label: 'Copy session id', refusal: null },
    ...(session.directory === null ? [] : [{ act: 'copy-directory', label: 'Copy directory', refusal: null } as const]),
  ];
}

const BUTTONS: readonly SessionAct[] = ['open', 'copy-attach', 'abort', 'end'];

/** The acts that get a button in the details: what can be done. Where neither abort nor end can, its end says why. */
export function sessionButtons(acts: readonly ActItem<SessionAct>[]): readonly ActItem<SessionAct>[] {
  const open = acts.filter(({ act, refusal }) => BUTTONS.includes(act) && refusal === null);
  if (open.some(({ act }) => act === 'abort' || act === 'end')) return open;
  return [...open, ...acts.filter(({ act }) => act === 'end')];
}
