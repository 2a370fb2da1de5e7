import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../local/testing/processes.ts';
import { MuxFailed, muxCheck, muxOpenForward, muxTerminate } from './mux.ts';

const HELLO = '00000008' + '00000001' + '00000004';
const alive = (pid: number): string => `0000000c80000005${'00000001'}${pid.toString(16).padStart(8, '0')}`;

/** A socket that says these bytes to whoever connects, in pieces of this size. */
async function speaking(hex: string, piece = 1000, thenEnd = false): Promise<string> {
  const path = join(temporaryFolder(), 's');
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    const bytes = Buffer.from(hex, 'hex');
    for (let at = 0; at < bytes.length; at += piece) socket.write(bytes.subarray(at, at + piece));
    if (thenEnd) socket.end();
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return path;
}

async function reason(act: Promise<unknown>): Promise<string> {
  try {
    await act;
    return 'none';
  } catch (error) {
    if (error instanceof MuxFailed) return error.reason;
    throw error;
  }
}

test.each([1, 3, 1000])('an answer is read in pieces of %d bytes', async (piece) => {
  expect(await muxCheck(await speaking(HELLO + alive(4711), piece), 2000)).toBe(4711);
});

test.each<[string, string, boolean, string]>([
  ['says nothing', '', false, 'deadline'],
  ['greets and says no more', HELLO, false, 'deadline'],
  ['closes at once', '', true, 'malformed'],
  ['is a web server', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n').toString('hex'), false, 'malformed'],
  ['speaks a later version', '00000008' + '00000001' + '00000005', false, 'malformed'],
  ['announces a gigabyte', '40000000', false, 'malformed'],
  ['says no', `${HELLO}0000001080000003${'00000001'}00000004${Buffer.from('nope').toString('hex')}`, false, 'refused'],
  ['answers another question', `${HELLO}0000000880000001${'00000001'}`, false, 'malformed'],
])('a socket that %s is no living master', async (_, hex, thenEnd, expected) => {
  expect(await reason(muxCheck(await speaking(hex, 1000, thenEnd), 150))).toBe(expected);
});

test('nobody at the path is told apart, and an end that takes the socket along is an end', async () => {
  const nowhere = join(temporaryFolder(), 'none');
  expect(await reason(muxCheck(nowhere, 500))).toBe('unreachable');
  expect(await reason(muxOpenForward(nowhere, { path: '/x' }, { address: '127.0.0.1', port: 1 }, 500))).toBe(
    'unreachable',
  );
  await muxTerminate(await speaking(HELLO, 1000, true), 500);
});
