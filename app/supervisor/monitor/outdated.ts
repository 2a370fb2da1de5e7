/**
 * Whether a restart of a server of ours would bring something else than what runs: another program at its place, or
 * another start command in the configuration. It is said and a restart offered; nothing is restarted for it.
 */
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import type { ServerRecord } from '../../records/schema.ts';
import type { Kind, StartPlan } from '../../servers/kind.ts';

/** Files are asked again after this long, in milliseconds. */
const ASK_EVERY_MS = 10_000;

/** Hex sha256 of a start plan; only this is kept of its arguments and environment, which may hold secrets. */
export function planHashOf({ argv, env }: Pick<StartPlan, 'argv' | 'env'>): string {
  const sorted = Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([argv, sorted]))
    .digest('hex');
}

/** The file behind a path, links followed; null where there is none or it cannot be told. */
export function programFileOf(path: string): ServerRecord['program'] {
  try {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) return null;
    return { path, device: String(stat.dev), inode: String(stat.ino), mtimeMs: Number(stat.mtimeMs) };
  } catch {
    // A folder on its way that may not be entered: then nothing can be said of it.
    return null;
  }
}

export interface OutdatedDeps {
  readonly kindOf: (name: string) => Kind | null;
  /** Path at which the program of a kind was last found; null where it was not. */
  readonly programOf: (kind: string) => string | null;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

export class Outdated {
  readonly #parts: OutdatedDeps;
  readonly #answers = new Map<string, { readonly at: number; readonly sentence: string | null }>();

  constructor(parts: OutdatedDeps) {
    this.#parts = parts;
  }

  /** A sentence for the person; null when a restart would bring the same, as far as can be told. */
  of(record: ServerRecord): string | null {
    const now = (this.#parts.now ?? performance.now.bind(performance))();
    const known = this.#answers.get(record.nonce);
    if (known !== undefined && now - known.at < ASK_EVERY_MS) return known.sentence;
    const sentence = this.#judge(record);
    this.#answers.set(record.nonce, { at: now, sentence });
    return sentence;
  }

  /** Settings or programs have changed: everything is asked anew. */
  reset(): void {
    this.#answers.clear();
  }

  #judge(record: ServerRecord): string | null {
    const { program, kind: name } = record;
    const running = record.server?.evidence.executable ?? null;
    if (program !== null && isReplaced(program)) return `${program.path} was replaced since it was started.`;
    if (running !== null && isReplaced({ ...running, path: running.path.replace(/ \(deleted\)$/u, '') })) {
      return 'The program it runs was replaced since it was started.';
    }
    const kind = this.#parts.kindOf(name);
    const found = this.#parts.programOf(name);
    if (program === null || record.planHash === null || found === null || kind?.startPlan == null) return null;
    if (found !== program.path) return `${name} is started from ${found} now.`;
    const plan = kind.startPlan(found, record.directory, record.port);
    return planHashOf(plan) === record.planHash ? null : 'Its start command in the configuration was changed.';
  }
}

/** Another file is at the path, or the same one with another content. One that is absent just now proves nothing. */
function isReplaced(file: { path: string; device: string; inode: string; mtimeMs?: number }): boolean {
  const now = programFileOf(file.path);
  if (now === null) return false;
  if (now.device !== file.device || now.inode !== file.inode) return true;
  return file.mtimeMs !== undefined && now.mtimeMs !== file.mtimeMs;
}
