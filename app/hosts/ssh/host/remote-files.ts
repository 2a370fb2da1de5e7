/** Files of a remote machine, as far as starting and watching servers there takes them. */
import type { Folder, HostFiles } from '../../host.ts';
import filesScript from '../remote/files.sh';
import type { RemoteShell, ScriptAnswer } from './shell.ts';

const DEADLINE_MS = 15_000;
/** A log above this many bytes keeps its end. */
const LOG_LIMIT = 8 * 1024 * 1024;
const LOG_KEPT = 1024 * 1024;

export class RemoteFiles implements HostFiles {
  readonly #shell: RemoteShell;

  constructor(shell: RemoteShell) {
    this.#shell = shell;
  }

  #ask(what: string, path: string, more: Readonly<Record<string, number>> = {}): Promise<ScriptAnswer> {
    return this.#shell.run(filesScript, { what, path, ...more }, DEADLINE_MS);
  }

  /** @throws SshFailed */
  async folder(path: string): Promise<Folder> {
    const answer = await this.#ask('folder', path);
    // The script ends the path with an x, since a shell drops newlines at the end.
    const found = answer.bytes('found')?.toString('utf8').replace(/\n?x$/u, '');
    if (found !== undefined) return { found: true, path: found };
    const why = (['no-folder', 'unreadable'] as const).find((word) => answer.has(word));
    return { found: false, why: why ?? 'absent' };
  }

  /** @throws SshFailed */
  async isFile(path: string): Promise<boolean> {
    return (await this.#ask('file', path)).has('yes');
  }

  /** @throws SshFailed */
  async tail(path: string, limitBytes: number): Promise<{ text: string; truncated: boolean }> {
    const answer = await this.#ask('tail', path, { limit: limitBytes });
    const text = answer.bytes('text')?.toString('utf8') ?? '';
    if (Number(answer.text('size') ?? 0) <= limitBytes) return { text, truncated: false };
    return { text: text.slice(text.indexOf('\n') + 1), truncated: true };
  }

  /** @throws SshFailed */
  async isProgram(path: string): Promise<boolean> {
    return (await this.#ask('program', path)).has('yes');
  }

  /** @throws SshFailed */
  async findProgram(name: string): Promise<string | null> {
    if (name === '' || name.includes('/')) return null;
    return (await this.#ask('find', name)).bytes('found')?.toString('utf8') ?? null;
  }

  /** Cuts logs that have grown too large to their end. @throws SshFailed */
  async trimLogs(folder: string): Promise<void> {
    await this.#ask('trim', folder, { limit: LOG_LIMIT, keep: LOG_KEPT });
  }
}
