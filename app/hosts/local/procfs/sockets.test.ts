import { isIPv6 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeAddress, formatIpv6, parseTcpTable } from './sockets.ts';

describe('decodeAddress', () => {
  test.each([
    ['0100007F', '127.0.0.1'],
    ['00000000', '0.0.0.0'],
    ['0101A8C0', '192.168.1.1'],
    ['00000000000000000000000000000000', '::'],
    ['00000000000000000000000001000000', '::1'],
    ['0000000000000000FFFF00000100007F', '127.0.0.1'],
    ['B80D01200000000067452301EFCDAB89', '2001:db8::123:4567:89ab:cdef'],
    ['000080FE00000000FF005450E5F1B8FE', 'fe80::5054:ff:feb8:f1e5'],
  ])('%s is %s', (hex, address) => {
    expect(decodeAddress(hex, true)).toBe(address);
  });

  test('big-endian kernels print the words the other way round', () => {
    expect(decodeAddress('7F000001', false)).toBe('127.0.0.1');
    expect(decodeAddress('00000000000000000000FFFF7F000001', false)).toBe('127.0.0.1');
  });

  test.each(['', '0100007', 'XX00007F', '0100007F00'])('%j is no address', (hex) => {
    expect(decodeAddress(hex, true)).toBeNull();
  });
});

test('formatIpv6 writes what every parser reads back as the same address', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
      const text = formatIpv6([...bytes]);
      expect(isIPv6(text)).toBe(true);
      // The URL parser is an independent implementation of the same text form.
      expect(new URL(`http://[${text}]/`).hostname).toBe(`[${text}]`);
    }),
  );
});

describe('parseTcpTable', () => {
  const header = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
  const listen =
    '   0: 0100007F:1000 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4242 1 ffff 100';
  const established =
    '   1: 0100007F:1000 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 0 1 ffff 20';
  const timeWait =
    '   2: 0100007F:1000 0100007F:C351 06 00000000:00000000 03:00000EA5 00000000     0        0 0 3 ffff';

  test('keeps listening and established sockets', () => {
    expect(parseTcpTable([header, listen, established, timeWait, ''].join('\n'), true)).toEqual([
      {
        state: 'listen',
        localAddress: '127.0.0.1',
        localPort: 4096,
        remoteAddress: '0.0.0.0',
        remotePort: 0,
        uid: 1000,
        inode: '4242',
      },
      {
        state: 'established',
        localAddress: '127.0.0.1',
        localPort: 4096,
        remoteAddress: '127.0.0.1',
        remotePort: 50_000,
        uid: 0,
        inode: '0',
      },
    ]);
  });

  test('passes over what is no line of a table', () => {
    expect(
      parseTcpTable([header, 'garbage', listen.slice(0, 40), listen.replace('1000', 'XYZW')].join('\n'), true),
    ).toEqual([]);
  });

  test('never throws, whatever the text', () => {
    fc.assert(fc.property(fc.string(), (text) => void parseTcpTable(text, true)));
  });
});
