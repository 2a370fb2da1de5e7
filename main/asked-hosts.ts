/** Which hosts a person has just asked for from outside the window: their questions bring it up. */
import type { Command } from '../app/roll/commands.ts';
import type { HostEntry, Roll } from '../app/roll/schema.ts';
import type { Core } from '../app/supervisor/core.ts';

/** For how long a wish for a host counts, in milliseconds: a second question may follow the first after a while. */
const COUNTS_MS = 180_000;

export class AskedHosts {
  readonly #asked = new Map<string, number>();
  /** Questions that a window was brought up for already. */
  readonly #shown = new Set<string>();

  /** @param host its name, or its alias */
  note(host: string): void {
    this.#asked.set(host, performance.now());
  }

  noteCommand(command: Command): void {
    const { host } = command as { readonly host?: string };
    if (host !== undefined && command.command !== 'disconnect') this.note(host);
  }

  #wanted(host: HostEntry | undefined, name: string): boolean {
    const names = host?.ssh ? [name, host.ssh.alias] : [name];
    return names.some((each) => performance.now() - (this.#asked.get(each) ?? Number.NEGATIVE_INFINITY) < COUNTS_MS);
  }

  /**
   * The host of a question that a person waits for and that no window was brought up for yet; null when there is none.
   *
   * @param all every question counts, since nothing else could tell of it
   */
  take(roll: Pick<Roll, 'questions' | 'hosts'>, all = false): string | null {
    const open = new Set(roll.questions.map(({ id }) => id));
    for (const id of this.#shown) if (!open.has(id)) this.#shown.delete(id);
    const wanted = roll.questions.find(
      ({ id, host }) =>
        !this.#shown.has(id) &&
        (all ||
          this.#wanted(
            roll.hosts.find(({ name }) => name === host),
            host,
          )),
    );
    if (wanted === undefined) return null;
    this.#shown.add(wanted.id);
    return wanted.host;
  }

  /** A core that notes every host that somebody asks it for. */
  over(core: Core): Core {
    return {
      get roll() {
        return core.roll;
      },
      subscribe: (listener) => core.subscribe(listener),
      run: (command, by) => {
        this.noteCommand(command);
        return core.run(command, by);
      },
      plan: (targets) => core.plan(targets),
      explain: (target, host) => {
        if (host != null) this.note(host);
        return core.explain(target, host);
      },
      readLog: (server) => core.readLog(server),
    };
  }
}
