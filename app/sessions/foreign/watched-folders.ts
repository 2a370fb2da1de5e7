import { codeOrMessage } from '../../util/errors.ts';
import type { ForeignIo } from './io.ts';

const ABSENT = new Set(['ENOENT', 'ENOTDIR']);

/** Watches a set of folders that changes, as far as the system can. Never throws. */
export class WatchedFolders {
  readonly #io: Pick<ForeignIo, 'watch'>;
  readonly #onChange: () => void;
  readonly #watches = new Map<string, () => void>();
  readonly #failures = new Map<string, string>();

  constructor(io: Pick<ForeignIo, 'watch'>, onChange: () => void) {
    this.#io = io;
    this.#onChange = onChange;
  }

  /** The first folder that cannot be watched, and the system's word for why; null while all can. */
  get failure(): { readonly folder: string; readonly code: string } | null {
    for (const [folder, code] of this.#failures) return { folder, code };
    return null;
  }

  /**
   * Watches these folders and no others.
   *
   * @param renew all anew: a watch stays with a folder that was removed, also when another has taken its place, and what
   *   could not be watched may be by now
   */
  keep(folders: ReadonlySet<string>, renew = false): void {
    for (const folder of [...this.#watches.keys(), ...this.#failures.keys()]) {
      if (renew || !folders.has(folder)) this.#drop(folder);
    }
    for (const folder of folders) {
      if (!this.#watches.has(folder) && !this.#failures.has(folder)) this.#begin(folder);
    }
  }

  close(): void {
    this.keep(new Set());
  }

  #begin(folder: string): void {
    try {
      const end = this.#io.watch(folder, this.#onChange, (error) => {
        if (this.#watches.get(folder) !== end) return;
        this.#failed(folder, error);
        this.#onChange();
      });
      this.#watches.set(folder, end);
    } catch (error) {
      this.#failed(folder, error);
    }
  }

  #failed(folder: string, error: unknown): void {
    this.#drop(folder);
    const code = codeOrMessage(error);
    // No folder yet, or no longer: nothing is wrong.
    if (!ABSENT.has(code)) this.#failures.set(folder, code);
  }

  #drop(folder: string): void {
    this.#failures.delete(folder);
    this.#watches.get(folder)?.();
    this.#watches.delete(folder);
  }
}
