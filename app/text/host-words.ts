/** What all three faces say of a host that is reached over SSH: its state, its steps, why it failed, what it asks. */
import type { HostEntry, Offered, Question, Roll, SshEntry, SshStepEntry } from '../roll/schema.ts';
import { clockTime, plural } from './words.ts';

/** The host that is this machine. */
export const THIS_MACHINE = 'local';

type Connection = Pick<HostEntry, 'name' | 'state' | 'detail' | 'lookedAt' | 'ssh'>;

const STATES: Readonly<Record<HostEntry['state'], string>> = {
  connected: 'connected',
  connecting: 'connecting',
  authenticating: 'waits for an answer',
  reconnecting: 'reconnecting',
  disconnected: 'not connected',
  failed: 'failed',
  unsupported: 'unsupported',
};

/** A state as a word of its own. */
export function hostStateWords(state: HostEntry['state']): string {
  return STATES[state];
}

interface StepWords {
  /** As a line of the list of steps. */
  readonly deed: string;
  /** In a sentence after "connecting:". */
  readonly short: string;
}

const STEPS: Readonly<Record<SshStepEntry['step'], StepWords>> = {
  resolve: { deed: 'Read ssh config', short: 'ssh config' },
  name: { deed: 'Look up the name', short: 'name' },
  port: { deed: 'ForwardPool the port', short: 'port' },
  'host-key': { deed: 'Check the host key', short: 'host key' },
  authentication: { deed: 'Sign in', short: 'sign-in' },
  shell: { deed: 'Find a shell', short: 'shell' },
  probe: { deed: 'Take the first look', short: 'first look' },
  forward: { deed: 'Open a tunnel', short: 'tunnel' },
};

/** A step of connecting as a line of its own: `Check the host key`. */
export function stepWords(step: SshStepEntry['step']): string {
  return STEPS[step].deed;
}

/** A step in two words at most, for a narrow place: `host key`. Steps that are none of the list are named as they are. */
export function shortStep(step: string): string {
  return Object.hasOwn(STEPS, step) ? STEPS[step as SshStepEntry['step']].short : step;
}

/** The step that is under way; null when none is. */
export function runningStep(ssh: Pick<SshEntry, 'steps'>): SshStepEntry | null {
  return ssh.steps.find(({ state }) => state === 'running') ?? null;
}

/** Whole seconds until the next attempt, at least 1 while it is waited for; null when none is. */
export function secondsToRetry(ssh: Pick<SshEntry, 'retryAt'> | null, now: number): number | null {
  if (ssh === null || ssh.retryAt === null) return null;
  return Math.max(1, Math.ceil((Date.parse(ssh.retryAt) - now) / 1000));
}

/** It was connected and is being brought back: what it showed is from before. */
export function isLost({ state, ssh }: Pick<HostEntry, 'state' | 'ssh'>): boolean {
  return (
    state === 'reconnecting' || ((state === 'connecting' || state === 'authenticating') && (ssh?.attempt ?? 0) > 0)
  );
}

/** The first attempt to bring it back has failed too: from here on it is worth telling. */
export function isSilent(host: Pick<HostEntry, 'state' | 'ssh'>): boolean {
  return isLost(host) && (host.ssh === null || host.ssh.attempt >= 2);
}

/** How long a host may stay silent before that is a fault, in milliseconds. */
export const SILENCE_LIMIT_MS = 60_000;

/** Rollcall cannot do its work there without the person: it failed, or has been silent for too long. */
export function isFaulty(host: Pick<HostEntry, 'state' | 'ssh' | 'lookedAt'>, now: number): boolean {
  if (host.state === 'failed') return true;
  return isLost(host) && host.lookedAt !== null && now - Date.parse(host.lookedAt) >= SILENCE_LIMIT_MS;
}

/** Whether acts that need a proof on that host can be given now. */
export function isReachable({ state }: Pick<HostEntry, 'state'>): boolean {
  return state === 'connected';
}

/** Its state with what belongs to it: `connecting: host key`, `reconnecting in 8 s`, `waits for an answer`. */
export function hostStatus(host: Connection, now: number): string {
  const { ssh, state } = host;
  if (ssh === null) return hostStateWords(state);
  const step = runningStep(ssh);
  const seconds = secondsToRetry(ssh, now);
  if (state === 'connected') return sharedWords(ssh) ?? 'connected';
  if (state === 'connecting' && ssh.attempt === 0)
    return step === null ? 'connecting' : `connecting: ${shortStep(step.step)}`;
  if (state === 'connecting') return `reconnecting, attempt ${ssh.attempt}`;
  if (state === 'reconnecting' && seconds !== null) return `reconnecting in ${seconds} s`;
  if (state === 'failed' && ssh.failure !== null) return `failed: ${shortStep(ssh.failure.step)}`;
  return hostStateWords(state);
}

/** The host that has its servers, in words; null for one with a connection of its own. */
export function sharedWords({ sharedWith }: Pick<SshEntry, 'sharedWith'>): string | null {
  if (sharedWith === null) return null;
  return sharedWith === THIS_MACHINE ? 'this very machine' : `same machine as ${sharedWith}`;
}

/** What follows from two hosts being one machine, as a sentence; null for a connection of its own. */
export function sharedSentence({ name, ssh }: Pick<HostEntry, 'name' | 'ssh'>): string | null {
  if (ssh === null || ssh.sharedWith === null) return null;
  return ssh.sharedWith === THIS_MACHINE
    ? `${name} is this very machine, so its servers are listed under ${THIS_MACHINE}.`
    : `${name} is the same machine as ${ssh.sharedWith}: they share one connection, and its servers are listed there.`;
}

/** What happens next with a lost host: `Attempt 3 in 8 s.`, `Attempt 3 is under way.` */
export function nextAttempt(ssh: Pick<SshEntry, 'attempt' | 'retryAt'>, now: number): string {
  const seconds = secondsToRetry(ssh, now);
  return seconds === null ? `Attempt ${ssh.attempt} is under way.` : `Attempt ${ssh.attempt} in ${seconds} s.`;
}

/** Why nothing on a host can be acted on now, and when it can again; null where it can. */
export function actRefusal(host: Connection | undefined): string | null {
  if (host === undefined || isReachable(host)) return null;
  const way =
    isLost(host) || host.state === 'connecting' ? 'It works again after the next look.' : `Connect ${host.name} first.`;
  return `Nothing can be stopped now: without a connection Rollcall cannot prove which process this is. ${way}`;
}

export interface Sentences {
  readonly title: string;
  readonly detail: string;
}

/** Alerts of a host that does not answer, or could not be connected, as title and detail; null where all is well. */
export function hostProblem(host: Connection, now: number): Sentences | null {
  const { name, ssh, lookedAt } = host;
  const rows = lookedAt === null ? '' : `Its servers keep running; these rows are from ${clockTime(lookedAt, now)}.`;
  if (isSilent(host)) {
    const since = lookedAt === null ? 'No answer yet.' : `No answer since ${clockTime(lookedAt, now)}.`;
    const next = ssh === null ? '' : nextAttempt(ssh, now);
    const kept = lookedAt === null ? '' : 'Its servers keep running; these rows are from before.';
    return { title: `${name} does not answer`, detail: [since, next, kept].filter((part) => part !== '').join(' ') };
  }
  if (host.state === 'unsupported') {
    return {
      title: `${name} is not supported`,
      detail: ssh?.failure?.message ?? host.detail ?? 'Rollcall cannot work there.',
    };
  }
  if (host.state !== 'failed') return null;
  if (ssh === null) {
    const age =
      lookedAt === null ? 'It has not been looked at yet.' : `Its rows are as of ${clockTime(lookedAt, now)}.`;
    return { title: `${name} cannot be looked at`, detail: host.detail === null ? age : `${host.detail} ${age}` };
  }
  const { failure } = ssh;
  const detail = failure === null ? (host.detail ?? '') : `${failure.message} ${failure.remedy}`;
  return { title: failureTitle(host), detail: [detail, rows].filter((part) => part !== '').join(' ') };
}

/** Its host key is not the one that was known: nothing but a loud refusal. */
export function keyChanged({ state, ssh }: Pick<HostEntry, 'state' | 'ssh'>): boolean {
  const code = state === 'failed' ? ssh?.failure?.code : undefined;
  return code === 'changed-host-key' || code === 'revoked-host-key';
}

/** What a failed attempt is called: by what a person has to deal with. */
export function failureTitle({ name, ssh }: Pick<HostEntry, 'name' | 'ssh'>): string {
  const failure = ssh?.failure ?? null;
  if (failure?.code === 'changed-host-key') return `The key of ${name} has changed`;
  if (failure?.code === 'revoked-host-key') return `The key of ${name} was revoked`;
  if (failure?.code === 'unknown-host-key') return `The key of ${name} is not known yet`;
  if (failure?.step === 'authentication') return `${name} refused the sign-in`;
  return `${name} could not be connected`;
}

/** The command in a remedy that a person may copy: what stands in brackets and begins with ssh-keygen. */
export function commandOf(remedy: string): string | null {
  return /\((?<command>ssh-keygen [^)]+)\)/u.exec(remedy)?.groups?.['command'] ?? null;
}

/** A fingerprint in groups of four, which the eye can compare. */
export function groupedFingerprint(fingerprint: string): string {
  const [, kind = '', digits = fingerprint] = /^([A-Z0-9]+:)?(.*)$/u.exec(fingerprint) ?? [];
  const groups = digits.includes(':') ? [digits] : (digits.match(/.{1,4}/gu) ?? [digits]);
  return `${kind}${groups.join(' ')}`;
}

/** Whether two fingerprints are the same, however they are spaced; null while one is not complete. */
export function sameFingerprint(shown: string, typed: string): boolean | null {
  const bare = (text: string): string => text.replace(/\s+|=+$/gu, '').replace(/^SHA256:/iu, '');
  const wanted = bare(shown);
  const given = bare(typed);
  if (given === '') return null;
  if (given.length < wanted.length) return wanted.startsWith(given) ? null : false;
  return given === wanted;
}

/** The type of the key in question, as ssh tells it: `ED25519`. */
export function keyTypeOf({ text }: Pick<Question, 'text'>): string | null {
  return /(?<type>[A-Z0-9-]+) key fingerprint is/u.exec(text)?.groups?.['type'] ?? null;
}

/** A question of ssh in one line, for tray and notifications: `web-eu waits for a password`. */
export function questionSentence({ host, type }: Pick<Question, 'host' | 'type'>): string {
  switch (type) {
    case 'host-key':
      return `${host}: its key is not known yet`;
    case 'password':
      return `${host} waits for a password`;
    case 'passphrase':
      return `${host} waits for a passphrase`;
    case 'code':
      return `${host} waits for a one-time code`;
    case 'confirm':
      return `${host} waits for an answer`;
  }
}

/** The time left to answer: `1 min 12 s left`, `9 s left`. */
export function timeLeft(until: string, now: number): string {
  const seconds = Math.max(0, Math.ceil((Date.parse(until) - now) / 1000));
  return seconds < 60 ? `${seconds} s left` : `${Math.floor(seconds / 60)} min ${seconds % 60} s left`;
}

/** What ssh takes for what a person typed: `user@machine:2222` has its port in a form of its own there. */
export function aliasOf(typed: string): string {
  const text = typed.trim();
  return /^(?:[^@:/\s]+@)?[^@:/\s[\]]+:\d{1,5}$/u.test(text) ? `ssh://${text}` : text;
}

/** The host that a name means: by its name in Rollcall, else by what ssh calls it. */
export function hostNamed(roll: Pick<Roll, 'hosts'>, name: string): HostEntry | null {
  return roll.hosts.find((host) => host.name === name) ?? roll.hosts.find((host) => host.ssh?.alias === name) ?? null;
}

/** What can be offered to be added: not what is on the list already. */
export function shownSuggestions(roll: Pick<Roll, 'hosts' | 'offered'>): readonly Offered[] {
  const taken = new Set(roll.hosts.flatMap(({ name, ssh }) => (ssh === null || !ssh.saved ? [] : [name, ssh.alias])));
  return roll.offered.filter(({ alias }) => !taken.has(alias));
}

/** The servers that "Disconnect and stop" would stop: what Rollcall supervises there, and may stop. */
export function stoppedByDisconnect(roll: Pick<Roll, 'servers'>, host: string): Roll['servers'] {
  return roll.servers.filter(
    (server) => server.host === host && server.supervised !== null && server.stop.allowed !== 'no',
  );
}

/** What was found on a host by its first look. */
export function foundWords(roll: Pick<Roll, 'servers'>, host: HostEntry): string {
  const servers = roll.servers.filter((server) => server.host === host.name).length;
  return `${plural(host.counted, 'process', 'processes')} looked at, ${plural(servers, 'server')} found`;
}
