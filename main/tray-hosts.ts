/** The part of the tray menu that lists hosts: their state, and how they are connected and left. */

import type { Command } from '../app/roll/commands.ts';
import type { HostEntry, Roll } from '../app/roll/schema.ts';
import {
  hostStateWords,
  isFaulty,
  isLost,
  keyChanged,
  questionSentence,
  runningStep,
  sharedWords,
  shortStep,
  stoppedByDisconnect,
} from '../app/text/host-words.ts';
import { hostHeadline, minuteTime, plural } from '../app/text/words.ts';
import { SEPARATOR, showing, type TrayAct, type TrayItem } from './tray-model.ts';
import { hostRows } from './tray-rows.ts';
import { firstThatFits, menuLabel } from './tray-text.ts';

const act = (label: string, on: TrayAct, enabled = true): TrayItem => ({
  type: 'act',
  label: menuLabel(label),
  enabled,
  on,
});
const run = (command: Command): TrayAct => ({ act: 'run', command });

/** What reaches a host now: for this machine, which is always there, another look. */
export function tryNow({ name, ssh }: HostEntry): TrayAct {
  return run(ssh === null ? { command: 'look' } : { command: 'connect', host: name });
}

/** A countdown would change the menu each second, so the state stands here without its time. */
function hostLabel(roll: Roll, host: HostEntry): string {
  const { name, ssh, state } = host;
  const asks = roll.questions.find((question) => question.host === name);
  if (asks !== undefined) return `▲ ${name}, ${hostStateWords('authenticating')}`;
  if (keyChanged(host)) return `▲ ${name}, its key has changed`;
  if (isFaulty(host, Date.parse(roll.takenAt))) return `▲ ${name}, ${state === 'failed' ? 'failed' : 'no answer'}`;
  if (state === 'connected') {
    const shared = ssh === null ? null : sharedWords(ssh);
    if (shared !== null) return firstThatFits(`${name}, ${shared}`, `${name}, as ${ssh?.sharedWith ?? ''}`);
    const ended = roll.ended.filter((each) => each.host === name).length;
    const all = roll.servers.some((server) => server.host === name) ? hostHeadline(roll, name) : `${name}, no servers`;
    return ended === 0 ? all : `${all}, ${ended} ended`;
  }
  const step = ssh === null ? null : runningStep(ssh);
  if (state === 'connecting' && step !== null && !isLost(host)) return `${name}, connecting: ${shortStep(step.step)}`;
  if (state === 'unsupported') return `▲ ${name}, unsupported`;
  return `${name}, ${isLost(host) ? 'reconnecting' : hostStateWords(state)}`;
}

/** How a host is connected, or left. */
function connectionItems(roll: Roll, host: HostEntry): readonly TrayItem[] {
  const { name, ssh, state } = host;
  if (ssh === null) return state === 'failed' ? [act('Try now', tryNow(host))] : [];
  const asks = roll.questions.find((question) => question.host === name);
  const leave = run({ command: 'disconnect', host: name, stopServers: false });
  if (asks !== undefined) return [act(questionLabel(asks.type), showing({ host: name })), act('Stop trying', leave)];
  switch (state) {
    case 'disconnected':
      return [act('Connect', tryNow(host))];
    case 'connected': {
      const stops = stoppedByDisconnect(roll, name).length;
      const stop = act(
        `Disconnect and stop ${plural(stops, 'server')}…`,
        showing({ host: name, dialog: 'disconnect-host' }),
      );
      return [act('Disconnect', leave), ...(stops === 0 ? [] : [stop])];
    }
    case 'failed':
    case 'unsupported':
      return [
        keyChanged(host)
          ? act('Show what changed…', showing({ host: name, dialog: 'host-steps' }))
          : act('Try now', tryNow(host)),
        ...(keyChanged(host) ? [] : [act('Show steps…', showing({ host: name, dialog: 'host-steps' }))]),
        act('Stop trying', leave),
      ];
    case 'connecting':
    case 'authenticating':
    case 'reconnecting':
      return [act('Try now', tryNow(host), state === 'reconnecting'), act('Stop trying', leave)];
  }
}

/** What a click on a question leads to: it opens in the window by itself. */
export function questionLabel(type: Roll['questions'][number]['type']): string {
  return type === 'host-key' ? 'Check its key…' : type === 'confirm' ? 'Answer…' : 'Sign in…';
}

/** The line of one host: its state, its servers, and what can be done about its connection. */
export function hostItem(roll: Roll, host: HostEntry): TrayItem {
  const label = menuLabel(hostLabel(roll, host));
  const connection = connectionItems(roll, host);
  const rows = host.state === 'connected' ? hostRows(roll, host.name) : [];
  const items: TrayItem[] =
    host.state === 'connected'
      ? [...rows, ...(rows.length > 0 && connection.length > 0 ? [SEPARATOR] : []), ...connection]
      : [...connection];
  if (host.state !== 'connected' && host.lookedAt !== null) {
    const servers = roll.servers.filter((server) => server.host === host.name).length;
    const asOf = `as of ${minuteTime(host.lookedAt)}: ${plural(servers, 'server')}`;
    if (items.length > 0) items.push(SEPARATOR, { type: 'text', label: menuLabel(asOf) });
  }
  return items.length === 0 ? { type: 'text', label } : { type: 'menu', label, items };
}

/** One thing that needs the person: the menu's first line and the action that fits it. */
export interface Fault {
  readonly line: string;
  readonly label: string;
  readonly on: TrayAct;
}

function hostFault(host: HostEntry): Fault {
  const { name, ssh, lookedAt } = host;
  const failure = ssh?.failure ?? null;
  const steps = showing({ host: name, dialog: 'host-steps' });
  if (host.state === 'failed' && keyChanged(host)) {
    return { line: `${name}: its key has changed`, label: 'Show what changed…', on: steps };
  }
  if (host.state === 'failed' && failure?.code === 'unknown-host-key') {
    return { line: `${name}: its key is not known yet`, label: `Check the key of ${name}…`, on: tryNow(host) };
  }
  if (host.state === 'failed' && failure?.step === 'authentication') {
    return { line: `${name} refused the sign-in`, label: `Sign in to ${name}…`, on: tryNow(host) };
  }
  const label = `Try ${name} now`;
  if (isLost(host) && lookedAt !== null) {
    return { line: `${name} has not answered since ${minuteTime(lookedAt)}`, label, on: tryNow(host) };
  }
  const why = failure === null ? (host.detail ?? 'it cannot be looked at') : `failed at the ${shortStep(failure.step)}`;
  return { line: `${name}: ${why}`, label, on: tryNow(host) };
}

function questionFault(question: Roll['questions'][number]): Fault {
  const { host, type } = question;
  const deed =
    type === 'host-key' ? `Check the key of ${host}…` : type === 'confirm' ? `Answer ${host}…` : `Sign in to ${host}…`;
  return { line: questionSentence(question), label: deed, on: showing({ host }) };
}

/** What waits for an answer, then the hosts that failed or stay silent; each host once. */
export function hostFaults(roll: Roll): readonly (Fault & { readonly host: string })[] {
  const asking = roll.questions.map((question) => ({ host: question.host, ...questionFault(question) }));
  const asked = new Set(asking.map(({ host }) => host));
  const silent = roll.hosts.filter((host) => isFaulty(host, Date.parse(roll.takenAt)) && !asked.has(host.name));
  return [...asking, ...silent.map((host) => ({ host: host.name, ...hostFault(host) }))];
}
