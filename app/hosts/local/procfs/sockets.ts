import { endianness } from 'node:os';

/** One TCP socket of a kernel table. Addresses are literal; a v4-mapped one is given as its IPv4 address. */
export interface TcpSocket {
  readonly state: 'listen' | 'established';
  readonly localAddress: string;
  readonly localPort: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly uid: number;
  /** Socket inode as `/proc/PID/fd` shows it; `0` while no process has accepted the connection. */
  readonly inode: string;
}

/** Socket states of include/net/tcp_states.h that matter here. */
const STATES: Readonly<Record<string, TcpSocket['state']>> = { '01': 'established', '0A': 'listen' };

const WORD_DIGITS = 8;

/** The bytes of an address that the kernel printed as 32-bit words in its own byte order. */
function addressBytes(hex: string, littleEndian: boolean): number[] {
  const bytes: number[] = [];
  for (let word = 0; word < hex.length; word += WORD_DIGITS) {
    const four: number[] = [];
    for (let digit = word; digit < word + WORD_DIGITS; digit += 2)
      four.push(Number.parseInt(hex.slice(digit, digit + 2), 16));
    bytes.push(...(littleEndian ? four.reverse() : four));
  }
  return bytes;
}

/** IPv6 text by RFC 5952: lower case, no leading zeros, the first longest run of zero groups as `::`. */
export function formatIpv6(bytes: readonly number[]): string {
  const groups = Array.from({ length: 8 }, (_, i) => ((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0));
  let start = -1;
  let length = 1;
  for (let i = 0; i < groups.length; i += 1) {
    let run = 0;
    while (i + run < groups.length && groups[i + run] === 0) run += 1;
    if (run > length) {
      start = i;
      length = run;
    }
    i += run;
  }
  const text = groups.map((group) => group.toString(16));
  if (start < 0) return text.join(':');
  return `${text.slice(0, start).join(':')}::${text.slice(start + length).join(':')}`;
}

/** Decodes an address of `/proc/net/tcp` (8 digits) or `tcp6` (32 digits); null for anything else. */
export function decodeAddress(hex: string, littleEndian: boolean): string | null {
  if (!/^(?:[0-9A-F]{8}|[0-9A-F]{32})$/iu.test(hex)) return null;
  const bytes = addressBytes(hex, littleEndian);
  if (bytes.length === 4) return bytes.join('.');
  const mapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
  return mapped ? bytes.slice(12).join('.') : formatIpv6(bytes);
}

/**
 * The listening and established sockets of a `/proc/net/tcp` or `tcp6` table; lines of other states, and lines
 * that are none, are left out. Source: proc_pid_net(5).
 */
export function parseTcpTable(text: string, littleEndian = endianness() === 'LE'): TcpSocket[] {
  const sockets: TcpSocket[] = [];
  // A number that nothing ends may be the beginning of a longer one.
  for (const line of text.slice(0, text.lastIndexOf('\n') + 1).split('\n')) {
    const fields = line.trim().split(/\s+/u);
    const state = STATES[fields[3] ?? ''];
    const inode = fields[9];
    if (state === undefined || inode === undefined) continue;
    const local = endpoint(fields[1], littleEndian);
    const remote = endpoint(fields[2], littleEndian);
    if (local === null || remote === null) continue;
    sockets.push({
      state,
      localAddress: local.address,
      localPort: local.port,
      remoteAddress: remote.address,
      remotePort: remote.port,
      uid: Number(fields[7]),
      inode,
    });
  }
  return sockets;
}

function endpoint(text: string | undefined, littleEndian: boolean): { address: string; port: number } | null {
  const [hex, port] = text?.split(':') ?? [];
  if (hex === undefined || port === undefined || !/^[0-9A-F]{4}$/iu.test(port)) return null;
  const address = decodeAddress(hex, littleEndian);
  return address === null ? null : { address, port: Number.parseInt(port, 16) };
}
