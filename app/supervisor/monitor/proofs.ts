/**
 * Whether the host can prove a listed process to be the one it has seen. Asked of the very check that comes before a
 * signal, so that a row never promises what an act would not find.
 */
import type { Host, ProcessInfo } from '../../hosts/host.ts';
import { refOf } from '../../hosts/process-info.ts';
import { identityKey } from '../../identity/identity.ts';

export class Proofs {
  readonly #host: Pick<Host, 'verify'>;
  /** Processes that have verified with the evidence they have now. */
  #proved = new Set<string>();
  #unprovable: ReadonlyMap<string, string> = new Map();

  constructor(host: Pick<Host, 'verify'>) {
    this.#host = host;
  }

  /**
   * Asks for each that has not verified with this evidence before. One that a kernel handle tells from every other
   * needs no evidence.
   */
  async update(processes: readonly ProcessInfo[]): Promise<void> {
    const proved = new Set<string>();
    const unprovable = new Map<string, string>();
    const ask = async (info: ProcessInfo): Promise<void> => {
      const asked = evidenceKey(info);
      if (info.identity.pidfdId !== undefined || this.#proved.has(asked)) {
        proved.add(asked);
        return;
      }
      const verdict = await this.#host.verify(refOf(info));
      if (verdict.verdict === 'same') proved.add(asked);
      else
        unprovable.set(identityKey(info.identity), 'why' in verdict ? verdict.why : 'it has changed since it was seen');
    };
    await Promise.all(processes.map(ask));
    this.#proved = proved;
    this.#unprovable = unprovable;
  }

  /** Why a process cannot be proved, a clause about it; null where it can. */
  whyNot(key: string): string | null {
    return this.#unprovable.get(key) ?? null;
  }
}

function evidenceKey({ identity, executable, argvHash }: ProcessInfo): string {
  return [identityKey(identity), executable?.device, executable?.inode, argvHash].join(' ');
}
