/** The settings in force, and the kinds they allow. */
import { type Loaded, loadConfig, problemText } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { watchConfig } from '../config/watch.ts';
import type { Roll } from '../roll/schema.ts';
import type { Kind, ProgramFinder } from '../servers/kind.ts';
import { kindOf, startableKinds } from '../servers/kinds/kinds.ts';
import type { StartOptions } from '../servers/start/locate.ts';
import { endLoginShells } from '../servers/start/login-path.ts';

export interface SettingsSource {
  readonly config: Config;
  /** What is wrong with the configuration file, with its line; null when it is fine or absent. */
  readonly problem: string | null;
  kindOf(name: string): Kind | null;
  /** Kinds that can be started, with where their programs are; may ask the login shell. */
  startable(finder: ProgramFinder): Promise<Roll['startable']>;
  /** The same settings as they hold for another host, by its name. */
  forHost(name: string): Pick<SettingsSource, 'kindOf'>;
  /** Returns the unsubscription. */
  onChange(listener: () => void): () => void;
  /** Reads the file now, after a change of our own. */
  reload(): Promise<void>;
  /** Stops following the file, and ends login shells that are still being asked for programs. */
  close(): Promise<void>;
}

export interface SettingsOptions {
  /** `opencode` of a checkout; null outside of one. */
  readonly developmentBin: string | null;
  /** Follow the file's changes. */
  readonly follow: boolean;
}

/** Between two looks for a shell that a search under way has started, in milliseconds. */
const ASKING_MS = 20;

class FileSettings implements SettingsSource {
  #loaded: Loaded;
  readonly #developmentBin: string | null;
  readonly #listeners = new Set<() => void>();
  readonly #file: string;
  readonly #stop: () => void;
  /** Searches for programs under way. */
  readonly #asking = new Set<Promise<unknown>>();

  constructor(file: string, options: SettingsOptions) {
    this.#developmentBin = options.developmentBin;
    this.#file = file;
    this.#loaded = loadConfig(file);
    this.#stop = options.follow
      ? watchConfig(file, this.#loaded, (loaded) => {
          this.#loaded = loaded;
          for (const listener of this.#listeners) listener();
        })
      : () => undefined;
  }

  get config(): Config {
    return this.#loaded.config;
  }

  get problem(): string | null {
    return problemText(this.#loaded.problems);
  }

  get #start(): StartOptions {
    return { developmentBin: this.#developmentBin, programs: this.config.start, setting: 'start' };
  }

  kindOf(name: string): Kind | null {
    return kindOf(name, this.config.kinds, this.#start);
  }

  forHost(name: string): Pick<SettingsSource, 'kindOf'> {
    return {
      kindOf: (kind) => {
        const programs = this.config.hosts[name]?.start ?? {};
        return kindOf(kind, this.config.kinds, { developmentBin: null, programs, setting: `hosts.${name}.start` });
      },
    };
  }

  startable(finder: ProgramFinder): Promise<Roll['startable']> {
    const asking = this.#startable(finder).finally(() => this.#asking.delete(asking));
    this.#asking.add(asking);
    return asking;
  }

  #startable(finder: ProgramFinder): Promise<Roll['startable']> {
    return Promise.all(
      startableKinds(this.config.kinds, this.#start).map(async ({ name, locate }) => {
        const found = (await locate?.(finder)) ?? {
          found: false,
          why: `${name} cannot be started from here.`,
          remedy: '',
        };
        return found.found
          ? { kind: name, available: true, detail: found.program }
          : { kind: name, available: false, detail: `${found.why} ${found.remedy}`.trim() };
      }),
    );
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async reload(): Promise<void> {
    this.#loaded = loadConfig(this.#file);
    for (const listener of this.#listeners) listener();
  }

  async close(): Promise<void> {
    this.#stop();
    // One that has only begun to look may still come to ask a shell.
    let settled = false;
    const over = Promise.allSettled([...this.#asking]).then(() => {
      settled = true;
    });
    do {
      await endLoginShells();
      await Promise.race([over, new Promise((resolve) => setTimeout(resolve, ASKING_MS))]);
    } while (!settled);
    await endLoginShells();
  }
}

export function openSettings(file: string, options: SettingsOptions): SettingsSource {
  return new FileSettings(file, options);
}
