/** One socket of the kernel's table of Unix sockets that has a name. */
export interface UnixSocket {
  readonly state: 'listen' | 'connected';
  /** As it was bound: a path, or `@name` for an abstract one. Control characters stand as the kernel printed them. */
  readonly path: string;
  /** Socket inode as `/proc/PID/fd` shows it; `0` while no process has accepted the connection. */
  readonly inode: string;
}

/** `SO_ACCEPTCON` among the flags of include/uapi/linux/net.h: the socket listens. */
const ACCEPTS = 0x10000;
/** Socket types that have connections: SOCK_STREAM and SOCK_SEQPACKET. */
const CONNECTED_TYPES = new Set([1, 5]);
const LINE =
  /^[0-9a-f]+: [0-9a-f]{8} [0-9a-f]{8} (?<flags>[0-9a-f]{8}) (?<type>[0-9a-f]{4}) [0-9a-f]{2} +(?<inode>\d+) (?<path>.+)$/iu;

/**
 * The named sockets of a `/proc/net/unix` table that listen or were made by a connection: the server's end of one
 * carries the name of its listener. Lines that are none are left out. Source: proc_pid_net(5), net/unix/af_unix.c.
 */
export function parseUnixTable(text: string): UnixSocket[] {
  const sockets: UnixSocket[] = [];
  // A path that no newline ends may be the beginning of a longer one.
  for (const line of text.slice(0, text.lastIndexOf('\n') + 1).split('\n')) {
    const { flags, type, inode, path } = LINE.exec(line)?.groups ?? {};
    if (flags === undefined || type === undefined || inode === undefined || path === undefined) continue;
    if (!CONNECTED_TYPES.has(Number.parseInt(type, 16))) continue;
    const listens = (Number.parseInt(flags, 16) & ACCEPTS) !== 0;
    sockets.push({ state: listens ? 'listen' : 'connected', path, inode });
  }
  return sockets;
}
