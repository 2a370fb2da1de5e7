import type { HostEntry } from '../../app/roll/schema.ts';
import { isLost, keyChanged } from '../../app/text/host-words.ts';
import type { ActItem } from './serverActs.ts';

export type HostAct =
  | 'connect'
  | 'retry'
  | 'steps'
  | 'save'
  | 'edit'
  | 'disconnect'
  | 'disconnect-stop'
  | 'remove'
  | 'copy-alias';

/** Everything a person can do with a host, the likeliest first; nothing for this machine, which is always there. */
export function hostActs(host: HostEntry): readonly ActItem<HostAct>[] {
  const { ssh, state } = host;
  if (ssh === null) return [];
  const item = (act: HostAct, label: string): ActItem<HostAct> => ({ act, label, refusal: null });
  const lost = isLost(host);
  const wanted = state !== 'disconnected';
  const first =
    state === 'disconnected' || state === 'unsupported'
      ? [item('connect', 'Connect')]
      : keyChanged(host)
        ? [item('steps', 'Show what changed…'), item('retry', 'Try now')]
        : lost || state === 'failed'
          ? [item('retry', 'Try now')]
          : [];
  const leave = {
    connected: 'Disconnect',
    connecting: 'Stop trying',
    authenticating: 'Stop trying',
    reconnecting: 'Stop trying',
    failed: 'Stop trying',
    unsupported: 'Disconnect',
    disconnected: 'Disconnect',
  }[state];
  return [
    ...first,
    ...(wanted ? [item('disconnect', leave)] : []),
    ...(state === 'connected' && ssh.sharedWith === null ? [item('disconnect-stop', 'Disconnect and stop…')] : []),
    ...(ssh.saved ? [] : [item('save', 'Add to the list…')]),
    ...(ssh.steps.length > 0 && !keyChanged(host) ? [item('steps', 'Show steps…')] : []),
    ...(ssh.saved ? [item('edit', 'Edit…')] : []),
    item('copy-alias', 'Copy alias'),
    ...(ssh.saved ? [item('remove', 'Remove…')] : []),
  ];
}
