import { expect, test } from 'vitest';
import { connectionsIn, listedIn, listedSeen, psLine, usageIn } from './listing.ts';
import { ScriptAnswer } from './shell.ts';

/** As macOS prints them; no machine with it was at hand where this was written. */
const ROWS = `    1     0     1     0 S    Mon Nov 23 07:01:02 2026 /sbin/launchd
  812     1   812   501 S    Mon Nov 30 09:15:00 2026 /Users/me/Application Support/opencode serve --port 4096
  900   812   812   501 Z    Mon Nov 30 09:15:01 2026 (node)
`;
const PROGRAMS = `p1
ftxt
D0x1000011
i1152921500312
n/sbin/launchd
p812
ftxt
D0x1000011
i88123
n/Users/me/Application Support/opencode
ftxt
D0x1000011
i99
n/usr/lib/dyld
p850
ftxt
n/private/program (readlink: Permission denied)
`;
const SOCKETS = `p812
f12
n127.0.0.1:4096
TST=LISTEN
TQR=0
TQS=0
f13
n127.0.0.1:4096->127.0.0.1:50123
TST=ESTABLISHED
n[::1]:4097
TST=LISTEN
n*:4098
TST=LISTEN
p950
n127.0.0.1:50123->127.0.0.1:4096
TST=ESTABLISHED
`;

function answered(parts: Readonly<Record<string, string>>): ScriptAnswer {
  return new ScriptAnswer(Object.entries(parts).map(([name, text]) => ({ name, rest: '', bytes: Buffer.from(text) })));
}

const observer = { hostId: 'h', bootId: 'b', pidNamespace: 'none' };
const whole = answered({ rows: ROWS, programs: PROGRAMS, sockets: SOCKETS, usage: ' 812 2048  1.5\n' });

test('processes come with their programs, whose paths may hold blanks', () => {
  const rows = listedIn(whole);
  expect(rows).toHaveLength(3);
  expect(rows?.[1]).toMatchObject({
    pid: 812,
    ppid: 1,
    uid: 501,
    startTime: 'darwin:Mon Nov 30 09:15:00 2026',
    executable: { path: '/Users/me/Application Support/opencode', device: '16777233', inode: '88123' },
  });
  expect(rows?.[2]).toMatchObject({ state: 'Z', executable: null });
  expect(usageIn(whole).get(812)).toEqual({ memRss: 2048, cpu: 1.5 });
  expect(rows?.[1] === undefined ? '' : psLine(rows[1])).toBe(
    '501 Mon Nov 30 09:15:00 2026 /Users/me/Application Support/opencode serve --port 4096',
  );
});

test('sockets come with both their ends', () => {
  expect(connectionsIn(whole)).toEqual([
    { localAddress: '127.0.0.1', localPort: '4096', peerAddress: '', peerPort: '', state: 'LISTEN', pid: 812 },
    {
      localAddress: '127.0.0.1',
      localPort: '4096',
      peerAddress: '127.0.0.1',
      peerPort: '50123',
      state: 'ESTABLISHED',
      pid: 812,
    },
    { localAddress: '::1', localPort: '4097', peerAddress: '', peerPort: '', state: 'LISTEN', pid: 812 },
    { localAddress: '0.0.0.0', localPort: '4098', peerAddress: '', peerPort: '', state: 'LISTEN', pid: 812 },
    {
      localAddress: '127.0.0.1',
      localPort: '50123',
      peerAddress: '127.0.0.1',
      peerPort: '4096',
      state: 'ESTABLISHED',
      pid: 950,
    },
  ]);
  expect(connectionsIn(answered({ rows: ROWS }))).toBeNull();
});

test('D3 a ps that fails is no absence; a row that is missing is one', () => {
  expect(listedSeen(whole, 812, observer)).toMatchObject({ found: 'process', uid: 501, finished: false });
  expect(listedSeen(whole, 900, observer)).toMatchObject({ found: 'process', finished: true });
  expect(listedSeen(whole, 4711, observer)).toEqual({ found: 'absent' });
  expect(listedSeen(answered({ rows: '\n' }), 812, observer)).toEqual({ found: 'absent' });
  expect(listedSeen(answered({ failed: "ps: bad -o argument 'lstart'" }), 812, observer)).toEqual({
    found: 'failed',
    why: "its ps cannot be used: ps: bad -o argument 'lstart'",
  });
});
