import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseUnixTable } from './unix-sockets.ts';

const HEADER = 'Num       RefCount Protocol Flags    Type St Inode Path';

test('named sockets that listen or were connected; the nameless and the datagram ones are left out', () => {
  const lines = [
    HEADER,
    '0000000000000000: 00000002 00000000 00010000 0001 01 22111 /run/user/0/a b.sock',
    '0000000000000000: 00000003 00000000 00000000 0001 03 22112 /run/user/0/a b.sock',
    '0000000000000000: 00000003 00000000 00000000 0001 02     0 @abstract',
    '0000000000000000: 00000003 00000000 00000000 0001 03 22114',
    '0000000000000000: 00000002 00000000 00000000 0002 01 22115 /run/log',
    '0000000000000000: 00000002 00000000',
  ];
  expect(parseUnixTable([...lines, ''].join('\n'))).toEqual([
    { state: 'listen', path: '/run/user/0/a b.sock', inode: '22111' },
    { state: 'connected', path: '/run/user/0/a b.sock', inode: '22112' },
    { state: 'connected', path: '@abstract', inode: '0' },
  ]);
});

test('a real server: one listener, and one more socket of its name for each client', async (context) => {
  if (process.platform !== 'linux') context.skip('only Linux has /proc/net/unix');
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-unix-'));
  const path = join(folder, 'a socket');
  const server = createServer();
  server.listen(path);
  await once(server, 'listening');
  const ours = () => parseUnixTable(readFileSync('/proc/net/unix', 'utf8')).filter((socket) => socket.path === path);
  expect(ours()).toMatchObject([{ state: 'listen' }]);
  const accepted = once(server, 'connection');
  const client = connect(path);
  await accepted;
  expect(ours().map(({ state }) => state)).toEqual(expect.arrayContaining(['listen', 'connected']));
  client.destroy();
  server.close();
  rmSync(folder, { recursive: true });
});

test('any text is read without an error, and a line is read back as what it was made of', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => parseUnixTable(text).every(({ path }) => path !== '')),
  );
  const path = fc.stringMatching(/^[@/][ -~]{1,40}$/u);
  fc.assert(
    fc.property(path, fc.boolean(), fc.nat(), (name, listens, inode) => {
      const line = `00000000abcdef01: 00000002 00000000 000${listens ? '1' : '0'}0000 0001 01 ${String(inode).padStart(5)} ${name}`;
      expect(parseUnixTable(`${HEADER}\n${line}\n`)).toEqual([
        { state: listens ? 'listen' : 'connected', path: name, inode: String(inode) },
      ]);
    }),
  );
});
