/** Which notifications a roll is worth: one per leak and per fault, never again for the same one. */
import type { Show } from '../app/roll/channels.ts';
import type { CommandResult } from '../app/roll/commands.ts';
import type { Alert, Roll, Server } from '../app/roll/schema.ts';
import { capitalised, faultsOf, formatBytes, listed, memoryOf, plural, rowName } from '../app/roll/words.ts';

/** News within this time becomes one notification, in milliseconds. */
export const GATHER_MS = 10_000;

export interface Notice {
  readonly title: string;
  readonly body: string;
  /** Where a click leads. */
  readonly show: Show;
}

const at = (place: Partial<Show>): Show => ({ view: 'servers', server: null, dialog: 'none', kind: null, ...place });

function leakNotice(leaks: readonly Server[]): Notice {
  const only = leaks[0];
  const holds = formatBytes(memoryOf(leaks)).text;
  if (leaks.length === 1 && only !== undefined) {
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

function faultNotice(faults: readonly Alert[]): Notice {
  const only = faults[0];
  if (faults.length === 1 && only !== undefined) {
    return { title: only.title, body: only.detail, show: at({ server: only.servers[0] ?? null }) };
  }
  return {
    title: plural(faults.length, 'fault'),
    body: faults.map((fault) => `${fault.title}.`).join(' '),
    show: at({}),
  };
}

/** Remembers what was told. Leaks are known by identity, faults by the alert's id. */
export class NoticeDesk {
  readonly #told = new Set<string>();
  readonly #waiting = new Set<string>();

  /** True when the roll has something new that waits to be told. */
  take(roll: Roll): boolean {
    const keys = [
      ...roll.servers.filter((server) => server.standing === 'leaked').map((server) => `leak ${server.id}`),
      ...faultsOf(roll).map((alert) => `fault ${alert.id}`),
    ];
    for (const key of keys) if (!this.#told.has(key)) this.#waiting.add(key);
    return this.#waiting.size > 0;
  }

  /** Takes what waits and still holds as one notification; null when all of it has passed meanwhile. */
  flush(roll: Roll): Notice | null {
    const leaks = roll.servers.filter(
      (server) => server.standing === 'leaked' && this.#waiting.has(`leak ${server.id}`),
    );
    const faults = faultsOf(roll).filter((alert) => this.#waiting.has(`fault ${alert.id}`));
    this.#waiting.clear();
    for (const server of leaks) this.#told.add(`leak ${server.id}`);
    for (const alert of faults) this.#told.add(`fault ${alert.id}`);
    if (faults.length === 0) return leaks.length === 0 ? null : leakNotice(leaks);
    if (leaks.length === 0) return faultNotice(faults);
    const fault = faultNotice(faults);
    const leak = leakNotice(leaks);
    return { title: `${fault.title}; ${leak.title}`, body: `${fault.body} ${leak.body}`, show: fault.show };
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
