import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ScriptAnswer } from './shell.ts';
import { parseLinks, parseOpen, Snapshot, splitFiles, unescaped } from './snapshot.ts';

/** As `grep -aH ''` prints files. */
function grepped(files: readonly (readonly [string, Buffer])[]): Buffer {
  const lines = files.flatMap(([name, bytes]) => {
    if (bytes.length === 0) return [];
    const text = bytes.toString('latin1');
    const parts = (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
    return parts.map((part) => Buffer.from(`${name}:${part}\n`, 'latin1'));
  });
  return Buffer.concat(lines);
}

test('F a process cannot pass for another one, whatever its name and arguments hold', () => {
  const forged = Buffer.from('sh\n77/stat:77 (opencode) S 1\n77/cmdline:opencode\0serve\0');
  const files = splitFiles(
    grepped([
      ['12/cmdline', forged],
      ['77/cmdline', Buffer.from('vi\0')],
    ]),
  );
  expect([...files.keys()]).toEqual(['12/cmdline', '77/cmdline']);
  expect(files.get('12/cmdline')).toEqual(Buffer.concat([forged, Buffer.from('\n')]));
  expect(files.get('77/cmdline')?.toString()).toBe('vi\0\n');
});

test('files come out of one stream as they were', () => {
  const content = fc.array(fc.constantFrom(0, 10, 58, 47, 49, 65, 255), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(40), { maxLength: 8 }), fc.array(content, { minLength: 8 }), (pids, contents) => {
      const given = pids.map((pid, index) => [`${pid}/cmdline`, Buffer.from(contents[index] ?? [1])] as const);
      const files = splitFiles(grepped(given));
      for (const [name, bytes] of given) {
        const ended = bytes[bytes.length - 1] === 10 ? bytes : Buffer.concat([bytes, Buffer.from('\n')]);
        expect(files.get(name)).toEqual(ended);
      }
    }),
  );
});

test('links are read from what GNU and BusyBox print', () => {
  const gnu = [
    'dr-xr-xr-x 9 1000 1000 0 Nov 30 14:26 12',
    'lrwxrwxrwx 1 1000 1000 0 Nov 30 14:26 12/exe -> /opt/d\\303\\251\\ x\\n/bin',
    'lrwxrwxrwx 1 0 0 0 Jan  5  2023 13/exe',
    'lrwxrwxrwx 1 0 0 0 Nov 30 14:26 self/ns/net -> net:[4026531840]',
    'total 0',
  ].join('\n');
  expect([...parseLinks(gnu, true)]).toEqual([
    ['12', { uid: 1000, target: null }],
    ['12/exe', { uid: 1000, target: '/opt/dé x\n/bin' }],
    ['13/exe', { uid: 0, target: null }],
    ['self/ns/net', { uid: 0, target: 'net:[4026531840]' }],
  ]);
  const busybox = 'lrwxrwxrwx    1 0        0               20 Nov 30 14:26 12/cwd -> /opt/d???x';
  expect(parseLinks(busybox, false).get('12/cwd')).toEqual({ uid: 0, target: '/opt/d???x' });
});

test('of a name that two rows claim, nothing is believed', () => {
  const rows = [
    'lrwxrwxrwx 1 0 0 0 Nov 30 14:26 12/cwd -> /home/x',
    'lrwxrwxrwx 1 0 0 0 Nov 30 14:26 77/exe -> /usr/bin/opencode',
    'lrwxrwxrwx 1 0 0 0 Nov 30 14:26 77/exe -> /usr/bin/vi',
  ].join('\n');
  expect([...parseLinks(rows, false).keys()]).toEqual(['12/cwd']);
});

test('what ls escapes comes back', () => {
  expect(unescaped('a\\tb\\\\c\\ \\"\\033')).toBe('a\tb\\c "\x1b');
});

test('descriptors that may not be read are unknown, not none', () => {
  const listed = [
    '12/fd:',
    'lrwx------ 1 0 0 64 Dec  1 03:40 3 -> socket:[77]',
    '13/fd:',
    'total 0',
    '14/fd:',
    'l????????? ? ? ? ?            ? 3',
    'lrwx------ 1 0 0 64 Dec  1 03:40 4',
    '15/fd:',
  ].join('\n');
  expect(parseOpen(listed, new Set(['13/fd']))).toEqual(
    new Map([
      ['12/fd', new Set(['77'])],
      ['15/fd', new Set()],
    ]),
  );
});

const answer = (parts: Readonly<Record<string, string>>): ScriptAnswer =>
  new ScriptAnswer(Object.entries(parts).map(([name, text]) => ({ name, rest: '', bytes: Buffer.from(text) })));
const NETWORK = 'lrwxrwxrwx 1 0 0 0 Nov 30 14:26 self/ns/net -> net:[1]\n';

test('an environment without our names is one that was counted', () => {
  const snapshot = new Snapshot(true, 0);
  snapshot.add(answer({ links: NETWORK, marks: '12/environ:_=/usr/bin/nohup\0', environments: '13/environ:4\n' }), []);
  expect(snapshot.ownBytes(12, 'environ')).toEqual({ ok: true, value: Buffer.from('_=/usr/bin/nohup\0') });
  expect(snapshot.ownBytes(13, 'environ')).toEqual({ ok: true, value: Buffer.alloc(0) });
  expect(snapshot.ownBytes(14, 'environ')).toMatchObject({ ok: false, reason: 'denied' });
});

test('a listing of another form is refused as a whole, for every link in it would be missing', () => {
  const snapshot = new Snapshot(true, 0);
  const iso = 'lrwxrwxrwx 1 0 0 0 2026-11-30 14:26 self/ns/net -> net:[1]\n';
  expect(() => snapshot.add(answer({ links: iso }), [])).toThrow('its ls prints rows of a form that cannot be read');
});
