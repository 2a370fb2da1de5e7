/**
 * Passwords of servers that Rollcall started: read from the server's own environment once it turns out to want one, kept in
 * memory only, and given to nobody but that very server.
 */
import type { Host } from '../../hosts/host.ts';
import { refOf } from '../../hosts/process-info.ts';
import { identityKey } from '../../identity/identity.ts';
import type { Credentials } from '../../servers/kind.ts';
import type { JudgedServer } from '../judged-server.ts';

export class ServerCredentials {
  readonly #host: Pick<Host, 'secrets'>;
  readonly #onFound: () => void;
  /** By identity; null for one that was asked for and has none, which is not asked again. */
  readonly #known = new Map<string, Credentials | null>();

  constructor(host: Pick<Host, 'secrets'>, onFound: () => void) {
    this.#host = host;
    this.#onFound = onFound;
  }

  /** @param key of the identity of the process that listens */
  of(key: string): Credentials | null {
    return this.#known.get(key) ?? null;
  }

  /** Looks for those that are wanted, and forgets those of servers that are gone. Does not wait. */
  update(servers: readonly JudgedServer[]): void {
    const keys = new Set(servers.map(({ key }) => key));
    for (const key of this.#known.keys()) if (!keys.has(key)) this.#known.delete(key);
    for (const server of servers) {
      const wants = server.record !== null && server.row.ownUid && server.row.health === 'locked';
      if (!wants || this.#known.has(server.key)) continue;
      this.#known.set(server.key, null);
      void this.#find(server);
    }
  }

  async #find({ key, leader, kind }: JudgedServer): Promise<void> {
    const protection = kind?.protection ?? null;
    if (protection === null) return;
    const { password, username, defaultUsername } = protection;
    let values: Awaited<ReturnType<Host['secrets']>>;
    try {
      values = await this.#host.secrets(refOf(leader), [password, username]);
    } catch {
      // Until it can be read the server stays locked, which its row says. A later look asks again.
      this.#known.delete(key);
      return;
    }
    const secret = values?.[password] ?? '';
    if (secret === '' || identityKey(leader.identity) !== key || !this.#known.has(key)) return;
    this.#known.set(key, { username: values?.[username] ?? defaultUsername, password: secret });
    this.#onFound();
  }
}
