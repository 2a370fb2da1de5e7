/** A folder on a file system that never answers: who reads in it waits in the kernel and cannot even be killed. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { python, temporaryFolder } from './processes.ts';

/**
 * A FUSE file system in a mount namespace of its own, so that the mount goes with its process. It answers the kernel's
 * greeting and nothing else. See linux/fuse.h for the layout of the messages.
 */
const NEVER_ANSWERS = `
import ctypes, os, select, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result != 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
CLONE_NEWNS, MS_REC_PRIVATE, FUSE_INIT = 0x20000, 0x4000 | 0x40000, 26
try:
    check(libc.unshare(CLONE_NEWNS))
    check(libc.mount(b'none', b'/', None, ctypes.c_ulong(MS_REC_PRIVATE), None))
    fuse = os.open('/dev/fuse', os.O_RDWR)
    options = f'fd={fuse},rootmode=40000,user_id=0,group_id=0'
    check(libc.mount(b'rollcall-test', sys.argv[1].encode(), b'fuse', ctypes.c_ulong(0), options.encode()))
except OSError as error:
    print(error, flush=True); sys.exit()
print('mounted', flush=True)
while 0 not in select.select([fuse, 0], [], [])[0]:
    message = os.read(fuse, 1 << 17)
    _, operation, unique, _ = struct.unpack('<IIQQ', message[:24])
    if operation != FUSE_INIT: continue
    readahead = struct.unpack('<I', message[48:52])[0]
    body = struct.pack('<IIIIHHI', 7, 31, readahead, 0, 0, 0, 4096) + bytes(40)
    os.write(fuse, struct.pack('<IiQ', 16 + len(body), 0, unique) + body)
`;

export interface HungFolder {
  /** Path of a file in it, as anybody can give it to open(2). */
  readonly file: string;
  /** Lets go of whoever waits: what they asked fails, and a SIGKILL that came meanwhile is carried out. */
  release(): void;
}

/** Null and why where such a file system cannot be had. It is let go of with the test at the latest. */
export async function hungFolder(): Promise<HungFolder | string> {
  const folder = join(temporaryFolder(), 'hung');
  mkdirSync(folder);
  const server = python(NEVER_ANSWERS, [folder]);
  const said = await server.line();
  if (said !== 'mounted') return `this machine mounts no FUSE file system: ${said}`;
  return { file: `/proc/${server.pid}/root${folder}/file`, release: () => server.tell('go') };
}
