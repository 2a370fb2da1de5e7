import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { fakeLeftover, fakeRoll, fakeServer } from '../control/fake-core.testing.ts';
import { identitySchema, standingSchema } from '../roll/schema.ts';
import { COMMANDS, helpFor, helpForAll } from './commands.ts';
import { UsageError } from './io.ts';
import { listJson } from './list-json.ts';
import { parseCommandLine } from './parse.ts';
import { renderRoll, rollFingerprint } from './render-roll.ts';
import { cutPath, displayWidth, printable, wrap } from './table.ts';

const NOW = Date.parse('2026-01-02T08:16:05.000Z');
const PLAIN = { width: null, colour: false, home: '/home/me', now: NOW };

/** The shape that scripts were promised, with room for more fields. */
const promised = z.looseObject({
  version: z.literal(1),
  takenAt: z.iso.datetime(),
  hosts: z.array(z.looseObject({ id: z.string(), name: z.string(), state: z.string() })),
  servers: z.array(
    z.looseObject({
      id: z.string().regex(/^[0-9a-f]{16}$/u),
      host: z.string(),
      kind: z.string(),
      pid: z.int(),
      pids: z.array(z.int()),
      identity: identitySchema,
      standing: standingSchema,
      reasons: z.array(z.string()),
      health: z.enum(['ok', 'unresponsive', 'locked', 'starting', 'unknown']),
      listening: z.array(z.looseObject({ address: z.string(), port: z.int() })),
      rssBytes: z.number(),
      startedAt: z.iso.datetime(),
      directory: z.string().nullable(),
      command: z.array(z.string()),
    }),
  ),
  leftovers: z.array(z.unknown()),
  records: z.array(
    z.looseObject({
      host: z.string(),
      source: z.string(),
      path: z.string(),
      pid: z.int().nullable(),
      verdict: z.string(),
      detail: z.string(),
      clearable: z.boolean(),
    }),
  ),
  sessions: z.array(z.unknown()),
  alerts: z.array(z.unknown()),
});

const RECORD = {
  host: 'local',
  source: 'rollcall',
  path: '/home/me/r.json',
  pid: 4711,
  verdict: 'reused',
  detail: 'names PID 4711, which is now postgres',
  clearable: true,
  keptBecause: null,
  sha256: 'ab',
  kind: 'opencode',
  directory: null,
  writtenAt: null,
} as const;

describe('list --json', () => {
  test('has every promised name', () => {
    const roll = fakeRoll(7, { leftovers: [fakeLeftover(50)], records: [RECORD] });
    const json = promised.parse(JSON.parse(JSON.stringify(listJson(roll))));
    expect(json.version).toBe(1);
    expect(json.servers).toHaveLength(1);
    expect(json.records[0]?.verdict).toBe('reused');
  });
});

describe('the roll as text', () => {
  const roll = fakeRoll(1, {
    servers: [
      fakeServer(4000, 'supervised', { memoryBytes: 900_000_000, owner: null }),
      fakeServer(4711, 'leaked', { directory: '/home/me/src/atlas', reasons: ['its owner exited at 12:03'] }),
      fakeServer(4712, 'suspect', { reasons: ['1 client is connected'] }),
      fakeServer(4713, 'owned', { reasons: ['its owner lives'], ownUid: false }),
    ],
    leftovers: [fakeLeftover(4800)],
    records: [RECORD],
  });

  test('puts trouble first, with its shape and its reasons, and says what to do', () => {
    const text = renderRoll(roll, PLAIN);
    const lines = text.split('\n');
    expect(lines[0]).toMatch(/^local, 4 servers, 1 leaked, as of /u);
    expect(lines[1]).toMatch(/^ {2}Standing +Server +PID +Owner +CPU +Memory +Age +Directory$/u);
    expect(lines[2]).toMatch(
      /^ {2}◆ Leaked +opencode :34801 +4711 +node launcher\.js, gone +0\.4 +131 MB +5h 12m +~\/src\/atlas$/u,
    );
    expect(lines[3]).toBe('    its owner exited at 12:03');
    expect(lines[4]).toMatch(/^ {2}◇ Suspect .*4712/u);
    expect(lines[6]).toMatch(/^ {2}● Supervised .*4000 +– /u);
    expect(text).not.toContain('its owner lives');
    expect(text).toContain('belongs to another user');
    expect(text).toMatch(/◆ Leftover +bash +4800 +PID 4001, gone/u);
    expect(text).toContain('1 stale record\n  ~/r.json\n    names PID 4711, which is now postgres');
    expect(text).toContain('rollcall reap --all');
    expect(text).not.toContain('\u001b');
  });

  test('an empty list says what was looked at', () => {
    expect(renderRoll(fakeRoll(1, { servers: [] }), PLAIN)).toMatch(
      /^local, 0 servers, 120 processes looked at, as of .+\n$/u,
    );
  });

  test('columns line up across rows', () => {
    const rows = renderRoll(roll, PLAIN)
      .split('\n')
      .filter((line) => /^ {2}(Standing|[◆◇●◉])/u.test(line));
    const ends = rows.map((row) => /^ {2}\S+(?: \S+)? +\S+(?: \S+)? +(\d+|PID)/u.exec(row)?.[0].length);
    expect(new Set(ends).size).toBe(1);
  });

  test('is cut to a terminal without losing PIDs, standings or the last part of a path', () => {
    const long = fakeRoll(1, {
      servers: [
        fakeServer(4711, 'leaked', {
          directory: `/home/me/${'deep/'.repeat(20)}atlas`,
          reasons: ['word '.repeat(40).trim()],
        }),
      ],
    });
    for (const width of [90, 120]) {
      const lines = renderRoll(long, { ...PLAIN, width }).split('\n');
      const row = lines.find((line) => line.includes('4711')) ?? '';
      expect(displayWidth(row)).toBeLessThanOrEqual(width);
      expect(row).toMatch(/◆ Leaked .*…\/atlas$/u);
      for (const line of lines.slice(3, 6)) expect(displayWidth(line)).toBeLessThanOrEqual(width);
    }
  });

  test('colour marks trouble only, and only where it is asked for', () => {
    const lines = renderRoll(roll, { ...PLAIN, colour: true }).split('\n');
    const leaked = lines.find((line) => line.includes('4711')) ?? '';
    expect(leaked.startsWith('\u001b[31m') && leaked.endsWith('\u001b[39m')).toBe(true);
    expect(lines.find((line) => line.includes('4713'))).not.toContain('\u001b');
  });

  test('F4 a name from outside cannot break rows or command the terminal', () => {
    const evil = fakeRoll(1, {
      servers: [fakeServer(4711, 'leaked', { directory: '/tmp/a\nb\u001b[2Jc\u202ed', reasons: ['x\u0007\ny'] })],
    });
    const text = renderRoll(evil, PLAIN);
    for (const character of ['\u001b', '\u0007', '\u202e']) expect(text).not.toContain(character);
    expect(text.split('\n').filter((line) => line.includes('4711'))).toHaveLength(1);
  });

  test('what exited unexpectedly has a section of its own, with its number, its cause and what follows', () => {
    const ended = {
      nonce: '0b9f7c1e-5d0c-4c55-8a57-6f1e2d3c4b5a',
      host: 'local',
      kind: 'opencode',
      label: 'opencode :4096 on local',
      directory: '/home/me/src/atlas',
      pid: 4711,
      state: 'lost' as const,
      why: 'it was ended by SIGKILL',
      endedAt: '2026-01-02T08:16:00.000Z',
      attempt: 2,
      attempts: 5,
      retryAt: '2026-01-02T08:16:09.000Z',
      logPath: null,
    };
    const alert = { id: 'e', level: 'fault', title: 'Twice', detail: '', act: 'start-again' } as const;
    const text = renderRoll(
      { ...roll, ended: [ended], alerts: [{ ...alert, servers: [], ended: ended.nonce }] },
      PLAIN,
    );
    expect(text).toMatch(
      /\n\n1 server ended unexpectedly\n {2}0b9f7c1e {2}opencode :4096 on local, PID 4711, ended \S.*, ~\/src\/atlas\n {4}It was ended by SIGKILL\. It starts again in 4 s, attempt 2 of 5\.\nrollcall start-again NONCE/u,
    );
    // Not once more among the alerts.
    expect(text).not.toContain('Twice');
    const before = rollFingerprint({ ...roll, ended: [ended] });
    expect(before).not.toBe(rollFingerprint(roll));
    expect(rollFingerprint({ ...roll, ended: [{ ...ended, retryAt: '2026-01-02T08:16:10.000Z' }] })).toBe(before);
    expect(rollFingerprint({ ...roll, ended: [{ ...ended, attempt: 3 }] })).not.toBe(before);
    expect(listJson({ ...roll, ended: [ended] }).ended).toEqual([ended]);
  });

  test('a server of ours says what it is amid, and what a restart would renew', () => {
    const supervised = {
      recordPath: '/r',
      keepRunning: false,
      logPath: null,
      nonceSeen: true,
      state: 'stopping' as const,
      idleMinutes: null,
      idleStopAt: null,
      outdated: '/usr/bin/opencode was replaced since it was started.',
    };
    const text = renderRoll(fakeRoll(1, { servers: [fakeServer(4000, 'supervised', { supervised })] }), PLAIN);
    expect(text).toContain('\n    being stopped\n    outdated: /usr/bin/opencode was replaced since it was started.\n');
  });

  test('the fingerprint ignores what always moves and notices what matters', () => {
    const before = rollFingerprint(roll);
    const moved = {
      ...roll,
      version: 2,
      servers: roll.servers.map((each) => ({ ...each, cpuPercent: 50, memoryBytes: 1 })),
    };
    expect(rollFingerprint(moved)).toBe(before);
    expect(rollFingerprint({ ...moved, servers: [...moved.servers].reverse() })).toBe(before);
    expect(rollFingerprint({ ...roll, servers: roll.servers.slice(1) })).not.toBe(before);
    expect(rollFingerprint({ ...roll, leftovers: [] })).not.toBe(before);
  });
});

describe('text helpers', () => {
  test('printable leaves no control character, whatever comes in', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(printable(text)).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  test('a cut path fits and keeps its last part', () => {
    expect(cutPath('~/src/some/where/atlas', 14)).toBe('~/src/s…/atlas');
    expect(cutPath('~/src/atlas', 40)).toBe('~/src/atlas');
    expect(cutPath('~/src/a-very-long-last-part', 10)).toBe('a-very-lo…');
    expect(displayWidth('漢字')).toBe(4);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 2, max: 30 }), (text, width) => {
        expect(displayWidth(cutPath(text, width))).toBeLessThanOrEqual(width);
      }),
    );
  });

  test('wrapping loses no word', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z]{1,12}$/u), { minLength: 1 }), (words) => {
        expect(wrap(words.join(' '), 20).join(' ')).toBe(words.join(' '));
      }),
    );
  });
});

describe('the command line', () => {
  test.each([
    [['lst'], /Unknown command: lst\..*Did you mean rollcall list\?/u],
    [['frobnicate'], /rollcall --help lists commands/u],
    [['constructor'], /Unknown command/u],
    [['--json', 'list'], /--json must follow a command/u],
    [[], /No command given/u],
    [['list', '--jsn'], /Unknown option for list: --jsn\..*Did you mean --json\?/u],
    [['list', '--json=yes'], /--json takes no value/u],
    [['list', '--json', '--json'], /given twice/u],
    [['list', 'x'], /Too many arguments for list: x/u],
    [['explain'], /explain needs an argument/u],
    [['start', 'opencode', '--port'], /--port needs a PORT/u],
    [['start', 'opencode', '--dir', '--json'], /--dir needs a DIR/u],
    [['reap', '-x'], /Unknown option for reap: -x/u],
    [['reap', '--toString'], /Unknown option/u],
  ])('%j is a usage error', (words, message) => {
    const error = (() => {
      try {
        parseCommandLine(words);
      } catch (thrown) {
        return thrown;
      }
      return null;
    })();
    expect(error).toBeInstanceOf(UsageError);
    if (error instanceof UsageError) expect(`${error.message} ${error.hint}`).toMatch(message);
  });

  test('every command has its help, and every option of its usage is one it takes', () => {
    for (const [name, entry] of Object.entries(COMMANDS)) {
      expect(helpForAll()).toContain(`\n  ${name} `);
      expect(helpFor(entry)).toContain(`Usage: rollcall ${name}`);
      const written = [...entry.usage.matchAll(/--([a-z-]+)/gu)].map((match) => match[1]);
      expect(written.sort()).toEqual(Object.keys(entry.options).sort());
      expect(parseCommandLine([name, '--help'])).toEqual({ kind: 'help', entry });
    }
  });

  test('options and arguments may stand in any order', () => {
    const parsed = parseCommandLine(['reap', '--yes', '4711', '--force', 'abcd']);
    if (parsed.kind !== 'command') throw new Error('no command');
    expect(parsed.args.positionals).toEqual(['4711', 'abcd']);
    expect([parsed.args.has('yes'), parsed.args.has('force'), parsed.args.has('all')]).toEqual([true, true, false]);
  });
});
