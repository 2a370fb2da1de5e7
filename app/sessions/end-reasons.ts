/** Why sessions end: what is said of a server's end before it is seen to be gone. */
import { identityKey, type ProcessIdentity } from '../identity/identity.ts';
import type { EndReason } from './session-run.ts';

export interface Cause {
  readonly reason: EndReason;
  /** A clause about the session: "its server was stopped from the window". */
  readonly text: string;
}

/** EndReasons of servers that are long gone are of no use; the oldest go first. */
const MAX_KEPT = 500;

/** The causes that are known, by server. The first one that is told of a server stands: what follows is only its effect. */
export class EndReasons {
  readonly #causes = new Map<string, Cause>();

  note(server: ProcessIdentity, cause: Cause): void {
    const key = identityKey(server);
    if (this.#causes.has(key)) return;
    this.#causes.set(key, cause);
    const [oldest] = this.#causes.keys();
    if (this.#causes.size > MAX_KEPT && oldest !== undefined) this.#causes.delete(oldest);
  }

  /** An ending that was announced did not come about. */
  withdraw(server: ProcessIdentity): void {
    this.#causes.delete(identityKey(server));
  }

  /** @param bootId of the machine now; null where it is not known */
  of(server: ProcessIdentity, bootId: string | null): Cause {
    const known = this.#causes.get(identityKey(server));
    if (known !== undefined) return known;
    return bootId !== null && server.bootId !== bootId
      ? { reason: 'host-rebooted', text: 'its host was started anew' }
      : { reason: 'server-gone', text: 'its server is gone' };
  }
}
