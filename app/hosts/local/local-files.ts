import { lstatSync, realpathSync, statSync } from 'node:fs';
import { loopbackOf } from '../../servers/client/http.ts';
import type { DialAddress } from '../../servers/kind.ts';
import { findOnPath, isProgramFile } from '../../servers/start/programs.ts';
import { codeOf } from '../../util/errors.ts';
import type { Folder, Host, Listener } from '../host.ts';
import { tail } from './tail.ts';

/** What every local host has alike: the files of this machine, and listeners that are where they say. */
export abstract class LocalFiles
  implements
    Pick<
      Host,
      | 'uid'
      | 'ownPids'
      | 'folder'
      | 'isFile'
      | 'tail'
      | 'isProgram'
      | 'findProgram'
      | 'at'
      | 'page'
      | 'keepPages'
      | 'startLock'
    >
{
  readonly uid = process.getuid?.() ?? null;
  readonly ownPids: readonly number[] = [process.pid];

  async folder(path: string): Promise<Folder> {
    try {
      const stat = statSync(path, { throwIfNoEntry: false });
      if (stat === undefined) return { found: false, why: 'absent' };
      return stat.isDirectory() ? { found: true, path: realpathSync(path) } : { found: false, why: 'no-folder' };
    } catch (error) {
      const code = codeOf(error);
      return { found: false, why: code === 'ENOENT' || code === 'ENOTDIR' ? 'absent' : 'unreadable' };
    }
  }

  async isFile(path: string): Promise<boolean> {
    try {
      return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
    } catch {
      // On a way that may not be entered, nothing of ours can be.
      return false;
    }
  }

  async tail(path: string, limitBytes: number): Promise<{ text: string; truncated: boolean }> {
    return tail(path, limitBytes);
  }

  isProgram(path: string): Promise<boolean> {
    return isProgramFile(path);
  }

  findProgram(name: string): Promise<string | null> {
    return findOnPath(process.env['PATH'] ?? '', name);
  }

  at({ address, port }: Listener): DialAddress | null {
    const loopback = loopbackOf(address);
    return loopback === null ? null : { type: 'tcp', address: loopback, port };
  }

  page({ address, port }: Listener): { address: string; port: number } | null {
    const loopback = loopbackOf(address);
    return loopback === null ? null : { address: loopback, port };
  }

  /** It is open already. */
  keepPages(): void {
    return;
  }

  /** The writer's lock sees to it here. */
  async startLock(): Promise<() => Promise<void>> {
    return async () => undefined;
  }
}
