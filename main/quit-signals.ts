/** Every way in which the system or a person can ask the app to go, from its first line on. */
import { app, powerMonitor } from 'electron';
import type { QuitCause } from './lifecycle.ts';

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/**
 * Listens at once: Electron's own answer to a signal is dropped while it starts, and the app would come up anyway.
 * Before the writer's lock is held the app simply ends; after that a goodbye waits until somebody can quit in order.
 */
export class QuitSignals {
  #quit: ((cause: QuitCause) => void) | null = null;
  #early: QuitCause | null = null;
  #holding = false;
  readonly #onSignal = (): void => this.#say('system');

  constructor() {
    app.on('before-quit', (event) => {
      // The orderly quit is asynchronous, and ends in `app.exit`, which does not come by here.
      event.preventDefault();
      this.#say('person');
    });
    // Without a listener Electron quits with its last window; the icon stays.
    app.on('window-all-closed', () => undefined);
    this.#listen();
  }

  #listen(): void {
    for (const signal of SIGNALS) process.on(signal, this.#onSignal);
  }

  /** From now on there is something to let go of in order: a goodbye waits for whoever can do that. */
  defer(): void {
    this.#holding = true;
  }

  /** From now on every goodbye is `quit`'s, beginning with one that came before. Only once Electron is ready. */
  attach(quit: (cause: QuitCause) => void): void {
    this.#quit = quit;
    // Electron puts handlers of its own in place of Node's while it becomes ready, and those let a second signal kill.
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
    this.#listen();
    powerMonitor.on('shutdown', (event?: { preventDefault(): void }) => {
      // Asks the system for the moment that the orderly quit takes.
      event?.preventDefault();
      quit('system');
    });
    if (this.#early !== null) quit(this.#early);
  }

  #say(cause: QuitCause): void {
    if (this.#quit !== null) this.#quit(cause);
    // Nobody is asked about a quit that is older than the first thing to be seen.
    else if (this.#holding) this.#early = 'system';
    else app.exit(0);
  }
}
