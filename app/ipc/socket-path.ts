/** Checks on the place of the control socket, for both of its ends. */
import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';

/** sun_path of sockaddr_un less its final NUL: 108 on Linux, 104 on macOS and the BSDs (unix(7), unix(4)). */
const MAX_LENGTH = process.platform === 'linux' ? 107 : 103;

/** The socket cannot be used where it should be; the message says why and what to do. */
export class ControlUnavailable extends Error {
  override readonly name = 'ControlUnavailable';
  readonly path: string;
  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/**
 * Makes sure that only our own uid can reach, or could have made, a socket at this path: its folder is a real
 * folder of ours with no rights for others. That stands for a check of each peer's uid.
 *
 * @returns false when the folder does not exist
 * @throws ControlUnavailable when the folder or the path's length will not do
 */
export function checkSocketPlace(socketPath: string): boolean {
  // Named pipes live in no folder; Windows gives them to their creator's account.
  if (process.platform === 'win32') return true;
  if (Buffer.byteLength(socketPath) > MAX_LENGTH) {
    throw new ControlUnavailable(
      socketPath,
      `The path ${socketPath} is too long for a socket: it has ${Buffer.byteLength(socketPath)} bytes and may have ` +
        `${MAX_LENGTH}. Set XDG_RUNTIME_DIR to a shorter folder.`,
    );
  }
  const folder = dirname(socketPath);
  if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) return false;
  const wrong = whatIsWrongWith(folder);
  if (wrong !== null) {
    throw new ControlUnavailable(
      socketPath,
      `${folder} is not used: ${wrong}. Remove it or make it yours alone (mode 700), then try again.`,
    );
  }
  return true;
}

/** Why others could reach into an existing folder, or null when it is a real one and ours alone. */
export function whatIsWrongWith(folder: string): string | null {
  if (process.platform === 'win32') return null;
  const stats = lstatSync(folder);
  if (!stats.isDirectory()) return 'it is not a folder';
  if (stats.uid !== process.getuid?.()) return `it belongs to user ${stats.uid}`;
  if ((stats.mode & 0o077) !== 0) return `others may enter it (mode ${(stats.mode & 0o777).toString(8)})`;
  return null;
}
