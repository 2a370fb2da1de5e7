/** What the kernel prints is read back as it was meant; what it never prints is no error; what is cut off is not guessed. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeArgv, hashArgv, pickVariables } from './argv.ts';
import { isContainerCgroup, leafCgroup } from './cgroup.ts';
import { parseTcpTable } from './sockets.ts';
import { parseStat } from './stat.ts';
import { parsePss, parseStatus } from './status.ts';
import { parseUnixTable } from './unix-sockets.ts';

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 3000 }),
  // Digits, blanks and what separates fields come closer to a real file than any byte does.
  fc.array(fc.constantFrom(...Buffer.from('0123456789 ()\n\t:-SZabcdef\0')), { maxLength: 3000 }),
);
/** A number as the kernel prints an unsigned long, up to its largest. */
const ulong = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String);
const pid = fc.integer({ min: 1, max: 4_194_304 });

test('no bytes at all make a parser throw', () => {
  fc.assert(
    fc.property(bytes, (raw) => {
      const buffer = Buffer.from(raw);
      const text = buffer.toString('utf8');
      parseStat(buffer);
      parseStatus(text);
      parsePss(text);
      parseTcpTable(text, true);
      parseUnixTable(text);
      isContainerCgroup(leafCgroup(text) ?? '');
      hashArgv(buffer);
      pickVariables(buffer, ['OPENCODE_PID', 'ROLLCALL_NONCE']);
      for (const arg of decodeArgv(buffer)) expect(arg).not.toContain('\0');
    }),
    { numRuns: 500 },
  );
});

describe('stat', () => {
  /** Any name that prctl takes: 15 bytes, none of them NUL, whatever else they are. */
  const comm = fc.oneof(
    fc.array(fc.integer({ min: 1, max: 255 }), { maxLength: 15 }),
    fc.array(fc.constantFrom(...Buffer.from(') (SZ1\n-')), { maxLength: 15 }),
  );
  const fields = fc.record({
    pid,
    comm: comm.map((raw) => Buffer.from(raw)),
    state: fc.constantFrom(...'RSDTtZXI'),
    ppid: fc.nat(4_194_304),
    pgrp: fc.integer({ min: -1, max: 4_194_304 }),
    session: fc.integer({ min: -1, max: 4_194_304 }),
    tty: fc.integer({ min: -2_147_483_648, max: 2_147_483_647 }),
    tpgid: fc.integer({ min: -1, max: 4_194_304 }),
    flags: fc.nat(0x7fff_ffff),
    utime: fc.nat(1e9),
    stime: fc.nat(1e9),
    threads: fc.integer({ min: 0, max: 100_000 }),
    start: ulong,
    rest: fc.array(ulong, { minLength: 30, maxLength: 30 }),
  });
  type Fields = typeof fields extends fc.Arbitrary<infer Value> ? Value : never;
  const print = (f: Fields): Buffer =>
    Buffer.concat([
      Buffer.from(`${f.pid} (`),
      f.comm,
      Buffer.from(
        `) ${[f.state, f.ppid, f.pgrp, f.session, f.tty, f.tpgid, f.flags, 1, 2, 3, 4, f.utime, f.stime, 5, 6, 20, -19, f.threads, 0, f.start, ...f.rest].join(' ')}\n`,
      ),
    ]);

  test('a line is read back, whatever its name and however large its numbers', () => {
    fc.assert(
      fc.property(fields, (f) => {
        expect(parseStat(print(f))).toEqual({
          pid: f.pid,
          comm: f.comm.toString('utf8'),
          state: f.state,
          ppid: f.ppid,
          pgrp: f.pgrp,
          session: f.session,
          tty: f.tty,
          tpgid: f.tpgid,
          kernelThread: (f.flags & 0x0020_0000) !== 0,
          cpuTicks: f.utime + f.stime,
          threads: f.threads,
          startTicks: f.start,
        });
      }),
    );
  });

  test('a line that is cut off anywhere is no line, or says what the whole one says', () => {
    fc.assert(
      fc.property(fields, fc.nat(600), (f, at) => {
        const line = print(f);
        const cut = parseStat(line.subarray(0, at));
        if (cut !== null) expect(cut).toEqual(parseStat(line));
      }),
      { numRuns: 1000 },
    );
  });
});

describe('status', () => {
  const fields = fc.record({
    pid,
    tgid: pid,
    uid: fc.nat(2 ** 32 - 2),
    threads: fc.integer({ min: 1, max: 100_000 }),
    inner: fc.array(pid, { maxLength: 3 }),
    rss: fc.option(fc.nat(2 ** 31)),
    ignored: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    /** As the kernel escapes it: a newline in a name is `\\n`. */
    name: fc.string({ maxLength: 15 }).map((text) => text.replace(/\n/gu, '\\n')),
  });
  type Fields = typeof fields extends fc.Arbitrary<infer Value> ? Value : never;
  const print = (f: Fields): string =>
    [
      `Name:\t${f.name}`,
      'Umask:\t0022',
      `Tgid:\t${f.tgid}`,
      'Ngid:\t0',
      `Pid:\t${f.pid}`,
      'PPid:\t1',
      'TracerPid:\t0',
      `Uid:\t${f.uid}\t0\t0\t0`,
      `NSpid:\t${[f.pid, ...f.inner].join('\t')}`,
      ...(f.rss === null ? [] : [`VmRSS:\t${String(f.rss).padStart(8)} kB`]),
      `Threads:\t${f.threads}`,
      `SigIgn:\t${f.ignored.toString(16).padStart(16, '0')}`,
      'voluntary_ctxt_switches:\t150',
      '',
    ].join('\n');

  test('a file is read back; a name that looks like a line of it changes nothing', () => {
    fc.assert(
      fc.property(fields, fc.constantFrom('', 'Pid:\\t1', 'Uid:\\n', 'Tgid: 1'), (f, odd) => {
        expect(parseStatus(print({ ...f, name: odd === '' ? f.name : odd }))).toEqual({
          pid: f.pid,
          tgid: f.tgid,
          realUid: f.uid,
          threads: f.threads,
          namespacePids: [f.pid, ...f.inner],
          rssBytes: (f.rss ?? 0) * 1024,
          ignoresHangup: (f.ignored & 1n) === 1n,
        });
      }),
    );
  });

  test('a file that is cut off is none, or says what the whole one says', () => {
    fc.assert(
      fc.property(fields, fc.nat(400), (f, at) => {
        const cut = parseStatus(print(f).slice(0, at));
        if (cut !== null) expect(cut).toEqual(parseStatus(print(f)));
      }),
      { numRuns: 500 },
    );
  });
});

describe('the table of TCP sockets', () => {
  const word = fc.nat(2 ** 32 - 1).map((value) => value.toString(16).toUpperCase().padStart(8, '0'));
  const row = fc.record({
    local: word,
    localPort: fc.nat(65_535),
    remote: word,
    remotePort: fc.nat(65_535),
    listens: fc.boolean(),
    uid: fc.nat(2 ** 32 - 2),
    inode: fc.nat(2 ** 31),
  });
  type Row = typeof row extends fc.Arbitrary<infer Value> ? Value : never;
  const port = (value: number): string => value.toString(16).toUpperCase().padStart(4, '0');
  const print = (rows: readonly Row[]): string =>
    [
      '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
      ...rows.map(
        (r, at) =>
          `${String(at).padStart(4)}: ${r.local}:${port(r.localPort)} ${r.remote}:${port(r.remotePort)} ${r.listens ? '0A' : '01'} 00000000:00000000 00:00000000 00000000 ${String(r.uid).padStart(5)}        0 ${r.inode} 1 0000000000000000 100 0 0 10 0`,
      ),
      '',
    ].join('\n');
  const dotted = (hex: string): string => [...Buffer.from(hex, 'hex')].reverse().join('.');

  test('rows are read back', () => {
    fc.assert(
      fc.property(fc.array(row, { maxLength: 8 }), (rows) => {
        expect(parseTcpTable(print(rows), true)).toEqual(
          rows.map((r) => ({
            state: r.listens ? 'listen' : 'established',
            localAddress: dotted(r.local),
            localPort: r.localPort,
            remoteAddress: dotted(r.remote),
            remotePort: r.remotePort,
            uid: r.uid,
            inode: String(r.inode),
          })),
        );
      }),
    );
  });

  test('a table that is cut off gives its first rows and no wrong one', () => {
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 4 }), fc.nat(800), (rows, at) => {
        const whole = parseTcpTable(print(rows), true);
        const cut = parseTcpTable(print(rows).slice(0, at), true);
        expect(cut).toEqual(whole.slice(0, cut.length));
      }),
      { numRuns: 500 },
    );
  });
});

test('a cgroup’s path is read back whatever other hierarchies there are', () => {
  const path = fc
    .array(fc.stringMatching(/^[\w@.:-]{1,12}$/u), { minLength: 1, maxLength: 5 })
    .map((p) => `/${p.join('/')}`);
  const other = fc.tuple(fc.integer({ min: 1, max: 12 }), fc.constantFrom('cpu,cpuacct', 'memory', 'pids'), path);
  fc.assert(
    fc.property(path, fc.array(other), (unified, others) => {
      const lines = others.map(([id, names, its]) => `${id}:${names}:${its}`);
      expect(leafCgroup([...lines, `0::${unified}`, ''].join('\n'))).toBe(unified);
      expect(leafCgroup([...lines, `1:name=systemd:${unified}`, ''].join('\n'))).toBe(unified);
    }),
  );
});

test('a variable is found among any others, and one that merely ends in its name is not', () => {
  const text = fc.string({ unit: 'binary' }).map((value) => value.replace(/\0/gu, ''));
  const others = fc.array(fc.tuple(fc.constantFrom('A', 'MY_OPENCODE_PID', 'OPENCODE', 'OPENCODE_PIDS'), text));
  fc.assert(
    fc.property(others, others, text, (before, after, value) => {
      const print = (pairs: [string, string][]): string => pairs.map(([name, its]) => `${name}=${its}\0`).join('');
      const raw = Buffer.from(`${print(before)}OPENCODE_PID=${value}\0${print(after)}`);
      expect(pickVariables(raw, ['OPENCODE_PID'])).toEqual({ OPENCODE_PID: Buffer.from(value).toString('utf8') });
      expect(pickVariables(Buffer.from(print([...before, ...after])), ['OPENCODE_PID'])).toEqual({});
    }),
  );
});
