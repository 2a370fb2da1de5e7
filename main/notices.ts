/** Which notifications a roll is worth: one per leak, fault, unasked end and idle stop, never again for the same one. */
import type { NavigationTarget } from '../app/roll/channels.ts';
import type { CommandResult } from '../app/roll/commands.ts';
import type { Alert, Ended, HostEntry, Question, Roll, Server } from '../app/roll/schema.ts';
import { endedBy, endedCause, endedNext, endedTitle, isAwaited } from '../app/text/ended-words.ts';
import { failureTitle, hostProblem, isLost, questionSentence } from '../app/text/host-words.ts';
import { capitalised, faultAlerts, formatBytes, listed, plural, rowName, totalMemory } from '../app/text/words.ts';

/** News within this time becomes one notification, in milliseconds. */
export const GATHER_MS = 10_000;
/** The first news that a server ended waits only for what ended with it, in milliseconds: a restart may follow at once. */
export const PROMPT_MS = 500;

export interface Notice {
  readonly title: string;
  readonly body: string;
  /** Where a click leads. */
  readonly show: NavigationTarget;
  /** A button, where the desktop has them on notifications; elsewhere a click leads near enough. */
  readonly button?: { readonly text: string; readonly show: NavigationTarget };
}

const at = (place: Partial<NavigationTarget>): NavigationTarget => ({
  view: 'servers',
  server: null,
  dialog: 'none',
  kind: null,
  ...place,
});

function leakNotice(leaks: readonly Server[]): Notice | null {
  const only = leaks[0];
  if (only === undefined) return null;
  const holds = formatBytes(totalMemory(leaks)).text;
  if (leaks.length === 1) {
    const why = only.reasons.slice(0, 2).join('; ');
    const sentence = why === '' ? '' : `${capitalised(why)}. `;
    return { title: `${rowName(only)} leaked`, body: `${sentence}It holds ${holds}.`, show: at({ server: only.id }) };
  }
  const hosts = [...new Set(leaks.map((server) => server.host))];
  return {
    title: `${plural(leaks.length, 'server')} leaked`,
    body: `They hold ${holds} on ${listed(hosts)}.`,
    show: at({ dialog: 'plan-leaked' }),
  };
}

/** What happens next with one that ended, at the moment of telling; null where nobody need be told any more. */
function nextWords(told: Ended, roll: Roll): string | null {
  const ended = endedBy(roll, told.nonce);
  if (ended === null) {
    const runs = roll.servers.some(
      ({ supervised, kind, directory }) => supervised !== null && kind === told.kind && directory === told.directory,
    );
    return runs ? 'It runs again.' : null;
  }
  return isAwaited(ended)
    ? `Restarting, attempt ${ended.attempt} of ${ended.attempts}.`
    : endedNext(ended, Date.parse(roll.takenAt));
}

function endedNotice(ended: readonly Ended[], roll: Roll): Notice | null {
  const only = ended[0];
  if (only === undefined) return null;
  if (ended.length === 1) {
    const { nonce, label, logPath } = only;
    return {
      title: `${label} ended unexpectedly`,
      body: `${endedCause(only)} ${nextWords(only, roll) ?? ''}`.trim(),
      show: at({ ended: nonce }),
      ...(logPath === null ? {} : { button: { text: 'Show log', show: at({ ended: nonce, dialog: 'log' as const }) } }),
    };
  }
  return {
    title: endedTitle(ended),
    body: `${listed(ended.map(({ label }) => label))}.`,
    show: at({ ended: only.nonce }),
  };
}

function faultNotice(faults: readonly Alert[], roll: Roll): Notice | null {
  const only = faults[0];
  if (only === undefined) return null;
  if (faults.length === 1) {
    const ended = endedBy(roll, only.ended);
    if (ended !== null) return endedNotice([ended], roll);
    return { title: only.title, body: only.detail, show: at({ server: only.servers[0] ?? null }) };
  }
  return {
    title: plural(faults.length, 'fault'),
    body: faults.map((fault) => `${fault.title}.`).join(' '),
    show: at({}),
  };
}

/** From this attempt on a host that was lost is worth telling: most come back at once. */
const TOLD_ATTEMPT = 4;

/** A host that was connected and is gone: attempts to bring it back fail, or another one makes no sense. */
function isGone(host: HostEntry): boolean {
  if (host.ssh === null || host.lookedAt === null) return false;
  return (isLost(host) && host.ssh.attempt >= TOLD_ATTEMPT) || (host.state === 'failed' && host.ssh.failure !== null);
}

function lostNotice(hosts: readonly HostEntry[], roll: Roll): Notice | null {
  const only = hosts[0];
  if (only === undefined) return null;
  if (hosts.length > 1) {
    return {
      title: `${plural(hosts.length, 'host')} do not answer`,
      body: `${listed(hosts.map(({ name }) => name))}. Their servers keep running.`,
      show: at({}),
    };
  }
  const { name } = only;
  const failed = only.state === 'failed';
  const problem = hostProblem(
    { ...only, ssh: only.ssh === null ? null : { ...only.ssh, retryAt: null } },
    Date.parse(roll.takenAt),
  );
  return {
    title: failed ? failureTitle(only) : `${name} does not answer`,
    body: failed
      ? (only.ssh?.failure?.message ?? problem?.detail ?? '')
      : `Rollcall goes on trying. ${only.ssh?.failure?.message ?? ''} Its servers keep running.`.replace('  ', ' '),
    show: failed ? at({ host: name, dialog: 'host-steps' }) : at({ host: name }),
  };
}

function questionNotice(questions: readonly Question[]): Notice | null {
  const only = questions[0];
  if (only === undefined) return null;
  return {
    title:
      questions.length === 1 ? questionSentence(only) : `${plural(questions.length, 'question')} of ssh wait for you`,
    body:
      questions.length === 1
        ? 'Click to answer in the window.'
        : `${listed([...new Set(questions.map(({ host }) => host))])} ask. Click to answer in the window.`,
    show: at({ host: only.host }),
  };
}

function idleNotice(announced: readonly Alert[], roll: Roll): Notice | null {
  const only = announced[0];
  if (only === undefined) return null;
  const server = only.servers[0] ?? null;
  if (announced.length === 1) return { title: only.title, body: only.detail, show: at({ server }) };
  const ids = new Set(announced.flatMap(({ servers }) => servers));
  return {
    title: `${plural(announced.length, 'idle server')} are about to be stopped`,
    body: `${listed(roll.servers.filter(({ id }) => ids.has(id)).map(rowName))}.`,
    show: at({ server }),
  };
}

/** Servers that were announced to be stopped for being idle. */
function announcedIdle(roll: Roll): readonly Alert[] {
  return roll.alerts.filter(({ act }) => act === 'keep-awake');
}

/** Faults to be told: not that a person's own wish to start one again failed, which they were answered. */
function toldFaults(roll: Roll): readonly Alert[] {
  return faultAlerts(roll).filter((alert) => endedBy(roll, alert.ended)?.attempt !== 0);
}

/** Whether it went away as something new: that one keeps crashing is told at its first crash and when it is given up. */
function isNews({ state, attempt, retryAt }: Ended): boolean {
  return state === 'lost' && (attempt <= 1 || retryAt === null);
}

/** Remembers what was told. Leaks are known by identity, faults by the alert's id, what ended by its nonce. */
export class NotificationCenter {
  readonly #told = new Set<string>();
  readonly #waiting = new Set<string>();
  /** Questions that came while no window could show them. */
  readonly #asked = new Set<string>();
  /** What ended and waits to be told, as it was then: it may run again before that. */
  readonly #ended = new Map<string, Ended>();

  /**
   * True when the roll has something new that waits to be told.
   *
   * @param seen a window shows the roll, where questions open by themselves
   */
  take(roll: Roll, seen = false): boolean {
    this.#forgetReturned(roll);
    for (const { id } of roll.questions) {
      if (seen) this.#told.add(`question ${id}`);
      else if (!this.#told.has(`question ${id}`)) this.#asked.add(id);
    }
    if (seen) this.#asked.clear();
    const keys = [
      ...roll.servers.filter((server) => server.standing === 'leaked').map((server) => `leak ${server.id}`),
      ...toldFaults(roll).map((alert) => `fault ${alert.id}`),
      ...roll.hosts.filter(isGone).map((host) => `host ${host.id}`),
      ...announcedIdle(roll).map((alert) => `idle ${alert.id}`),
    ];
    for (const key of keys) if (!this.#told.has(key)) this.#waiting.add(key);
    for (const ended of roll.ended) {
      if (isNews(ended) && !this.#told.has(`ended ${ended.nonce}`)) this.#ended.set(ended.nonce, ended);
    }
    return this.#waiting.size + this.#ended.size + this.#asked.size > 0;
  }

  /** A server ended, which somebody may be at work on, or a question runs out of time: that is told soon. */
  get urgent(): boolean {
    return this.#ended.size + this.#asked.size > 0;
  }

  /** What was told and is over can happen anew. A host that the person left was not lost. */
  #forgetReturned(roll: Roll): void {
    for (const host of roll.hosts) {
      if (host.state === 'connected' || host.state === 'disconnected') this.#told.delete(`host ${host.id}`);
    }
    // One that was kept running may be idle for as long again.
    const announced = new Set(announcedIdle(roll).map((alert) => `idle ${alert.id}`));
    for (const key of this.#told) if (key.startsWith('idle ') && !announced.has(key)) this.#told.delete(key);
  }

  /** Takes what waits as one notification; null when all of it has passed meanwhile. A server that ended has, also if it runs again. */
  flush(roll: Roll): Notice | null {
    const leaks = roll.servers.filter(
      (server) => server.standing === 'leaked' && this.#waiting.has(`leak ${server.id}`),
    );
    const faults = toldFaults(roll).filter((alert) => this.#waiting.has(`fault ${alert.id}`));
    const given = new Set(faults.map(({ ended }) => ended));
    const ended = [...this.#ended.values()].filter((each) => !given.has(each.nonce) && nextWords(each, roll) !== null);
    for (const nonce of this.#ended.keys()) this.#told.add(`ended ${nonce}`);
    const hosts = roll.hosts.filter((host) => isGone(host) && this.#waiting.has(`host ${host.id}`));
    const questions = roll.questions.filter(({ id }) => this.#asked.has(id));
    const idle = announcedIdle(roll).filter(({ id, level }) => level !== 'fault' && this.#waiting.has(`idle ${id}`));
    this.#waiting.clear();
    this.#ended.clear();
    this.#asked.clear();
    for (const host of hosts) this.#told.add(`host ${host.id}`);
    for (const { id } of questions) this.#told.add(`question ${id}`);
    for (const { id } of idle) this.#told.add(`idle ${id}`);
    for (const server of leaks) this.#told.add(`leak ${server.id}`);
    for (const alert of faults) this.#told.add(`fault ${alert.id}`);
    // The supervisor may tell of the same host as a fault.
    const others = faults.filter(({ title }) => !hosts.some(({ name }) => title.startsWith(`${name} `)));
    const notices = [
      questionNotice(questions),
      faultNotice(others, roll),
      lostNotice(hosts, roll),
      endedNotice(ended, roll),
      leakNotice(leaks),
      idleNotice(idle, roll),
    ].filter((notice) => notice !== null);
    const [first] = notices;
    if (first === undefined || notices.length === 1) return first ?? null;
    return {
      title: notices.map(({ title }) => title).join('; '),
      body: notices.map(({ body }) => body).join(' '),
      show: first.show,
    };
  }
}

/** What a one-click reap from the tray came to. */
export function reapNotice(result: CommandResult): Notice {
  const gone = result.results.filter((one) => one.outcome === 'gone');
  const others = result.results.filter((one) => one.outcome !== 'gone');
  const freed = formatBytes(gone.reduce((sum, one) => sum + one.freedBytes, 0)).text;
  if (!result.ok && result.results.length === 0) {
    return { title: 'Nothing was reaped', body: `${result.failure.message} ${result.failure.remedy}`, show: at({}) };
  }
  if (others.length === 0) {
    return {
      title: `${gone.length} reaped, ${freed} freed`,
      body: gone.map((one) => one.label).join(', '),
      show: at({ view: 'timeline' }),
    };
  }
  return {
    title: `${gone.length} of ${result.results.length} reaped, ${freed} freed`,
    body: others.map((one) => one.message).join(' '),
    show: at({ server: others[0]?.id ?? null }),
  };
}

/** Text for a notification's body: on Linux it is read as markup, elsewhere as it stands. */
export function bodyText(text: string, platform: NodeJS.Platform): string {
  if (platform !== 'linux') return text;
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
