/** Looks at a remote machine that has no /proc, by its own ps and lsof. */
import { messageOf } from '../../../util/errors.ts';
import { type Look, LookFailed, type LookRequest, type ProcessInfo, ReadFailed } from '../../host.ts';
import type { Recognise } from '../../local/look/candidates.ts';
import { assemble, describeListed } from '../../ps/portable-look.ts';
import psScript from '../remote/ps.sh';
import { connectionsIn, listedIn, usageIn } from './listing.ts';
import type { RemotePlatform } from './platform.ts';
import type { RemoteShell, ScriptAnswer } from './shell.ts';

const DEADLINE_MS = 30_000;

export class PsLooker {
  readonly #shell: RemoteShell;
  readonly #contact: RemotePlatform;
  readonly #recognise: Recognise;
  #starts: ReadonlyMap<number, string> = new Map();
  #answer: ScriptAnswer | null = null;

  constructor(shell: RemoteShell, contact: RemotePlatform, recognise: Recognise) {
    this.#shell = shell;
    this.#contact = contact;
    this.#recognise = recognise;
  }

  /** Rejects with `LookFailed`. */
  async look(request: LookRequest): Promise<Look> {
    const begun = performance.now();
    const answer = await this.#ask({ what: 'list' });
    const rows = listedIn(answer);
    if (rows === null || rows.length === 0) {
      throw new LookFailed(answer.text('failed') ?? 'its ps named no process', undefined, this.#shell.host);
    }
    this.#answer = answer;
    this.#starts = new Map(rows.filter(({ state }) => state !== 'Z').map(({ pid, startTime }) => [pid, startTime]));
    const place = { observer: this.#contact.observer, ownUid: this.#contact.uid };
    const usage = usageIn(answer);
    const everyone = new Map(rows.map((row) => [row.pid, describeListed(row, usage.get(row.pid), this.#contact)]));
    const [, ...line] = (answer.text('line') ?? '').split(/ +/u).map(Number);
    const ownPids = [...new Set([...this.#contact.selfAndAncestors, ...line, ...request.ownPids])];
    const why = this.#contact.tools.has('lsof') ? 'denied' : 'no-lsof';
    return assemble(everyone, connectionsIn(answer), { ...request, ownPids }, this.#recognise, place, begun, why);
  }

  /** Rejects with `ReadFailed`. */
  async inspect(pid: number): Promise<ProcessInfo | null> {
    if (!Number.isInteger(pid) || pid <= 0) return null;
    const answer = await this.#ask({ what: 'observe', pids: pid });
    const rows = listedIn(answer);
    if (rows === null) throw new ReadFailed(pid, `its ps failed: ${answer.text('failed') ?? 'it said nothing'}`);
    const row = rows.find((each) => each.pid === pid);
    return row === undefined ? null : describeListed(row, undefined, this.#contact);
  }

  /** Of other users' listeners lsof tells nothing: a port that they hold looks free. Rejects with `LookFailed`. */
  async portHolder(port: number): Promise<ProcessInfo | 'unreadable' | null> {
    const connections = connectionsIn(await this.#ask({ what: 'ports' }));
    if (connections === null) throw new LookFailed('it has no lsof', undefined, this.#shell.host);
    const holder = connections.find(({ state, localPort }) => state === 'LISTEN' && Number(localPort) === port);
    return holder === undefined ? null : ((await this.inspect(holder.pid)) ?? 'unreadable');
  }

  runningSince(pid: number): string | null {
    return this.#starts.get(pid) ?? null;
  }

  /** What was told of the machine as a whole: `load` and `memory`. */
  global(name: string): string | null {
    return this.#answer?.text(name) ?? null;
  }

  async readMachine(): Promise<void> {
    this.#answer = await this.#ask({ what: 'list' });
  }

  async #ask(parameters: Readonly<Record<string, string | number>>): Promise<ScriptAnswer> {
    let answer: ScriptAnswer;
    try {
      answer = await this.#shell.run(psScript, parameters, DEADLINE_MS);
    } catch (error) {
      throw new LookFailed(messageOf(error), error, this.#shell.host);
    }
    if (answer.text('boot') !== this.#contact.observer.bootId) {
      throw new LookFailed('it has booted since it was connected to', undefined, this.#shell.host);
    }
    return answer;
  }
}
