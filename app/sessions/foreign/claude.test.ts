import { afterEach, describe, expect, test } from 'vitest';
import { claudeFolder, isClaudeFile, judgeClaude, parseClaude } from './claude.ts';
import type { ProcessReading } from './find-process.ts';
import {
  ABSENT,
  claudeFile,
  claudeProcess,
  DOMAIN,
  PID,
  PLACE,
  running,
  SESSION,
  STARTED,
  TICKS,
} from './fixtures.testing.ts';
import type { ForeignSession } from './session.ts';

const NAME = `${PID}.json`;
const LEGACY = JSON.stringify({ session_id: SESSION, cwd: '/home/ann/shop', transcript_path: '/home/ann/t.jsonl' });

function judged(text: string, seen: ProcessReading, name = NAME): ForeignSession | null {
  const record = parseClaude(name, text);
  if (record === null) throw new Error('it was not parsed');
  return judgeClaude(record, `/c/${name}`, seen, PLACE);
}

describe('W1 claude writes two generations of files', () => {
  test('W1 a current one is verified by the start of its process, as the kernel prints it', () => {
    const info = claudeProcess();
    expect(judged(claudeFile(), running(info))).toEqual({
      tool: 'claude',
      id: SESSION,
      title: 'mend the basket',
      directory: '/home/ann/shop',
      state: 'busy',
      detail: null,
      pid: PID,
      carrier: 'claude',
      endedBy: null,
      identity: info.identity,
      at: info.identity,
      startedAt: STARTED + 2400,
      updatedAt: STARTED + 61_000,
      path: `/c/${NAME}`,
    });
  });

  test.each([
    ['idle', 'idle', null],
    ['waiting', 'waiting', null],
    ['shell', 'idle', 'a command that it started still runs in the background'],
  ])('W1 status %s is %s', (status, state, detail) => {
    expect(judged(claudeFile({ status }), running())).toMatchObject({ state, detail });
  });

  test('W1 another start at the same PID is another process', () => {
    const info = claudeProcess({ startTime: `linux:${TICKS + 1}`, comm: 'postgres' });
    expect(judged(claudeFile(), running(info))).toMatchObject({
      state: 'ended',
      detail: `its process is gone, PID ${PID} is now postgres`,
      identity: null,
    });
  });

  test.each([
    ['an old file', LEGACY, `pid-${PID}.json`],
    ['a current one without a start', claudeFile({ procStart: undefined }), NAME],
  ])('W1 %s proves nothing: it is listed only beside a living claude, as unknown', (_what, text, name) => {
    const listed = judged(text, running(), name);
    expect(listed).toMatchObject({ id: SESSION, state: 'unknown', pid: PID, identity: null });
    const byNode = claudeProcess({
      comm: 'node',
      argv: ['node', '/lib/node_modules/@anthropic-ai/claude-code/cli.js'],
    });
    expect(judged(text, running(byNode), name)).not.toBeNull();
    expect(judged(text, running(claudeProcess({ comm: 'vim', argv: ['vim', 'claude.md'] })), name)).toBeNull();
    expect(judged(text, ABSENT, name)).toBeNull();
    expect(judged(text, { found: 'failed', why: 'EIO' }, name)).toBeNull();
  });

  test.each([
    ['another machine', DOMAIN.replace('4e75', '4e76'), 'it runs on another machine'],
    [
      'a container',
      DOMAIN.replace('1836', '2199'),
      'it runs in a container, and what it does cannot be told from here',
    ],
  ])('W1 a PID of %s is never compared with ours', (_what, pidDomain, detail) => {
    for (const seen of [running(), ABSENT]) {
      expect(judged(claudeFile({ pidDomain }), seen)).toMatchObject({
        state: 'unknown',
        detail,
        pid: null,
        identity: null,
      });
    }
  });

  test.each([['linux::'], ['darwin'], [undefined]])(
    'W1 a domain that names no place (%s) denies nothing',
    (pidDomain) => {
      expect(judged(claudeFile({ pidDomain }), running())).toMatchObject({ state: 'busy' });
    },
  );
});

describe('W2 what it does is said as of now, or is unknown', () => {
  test.each([
    ['compacting', 'Claude says "compacting", which this version does not know'],
    ['BUSY', 'Claude says "BUSY", which this version does not know'],
    [undefined, 'Claude does not say what it does'],
    [7, 'Claude does not say what it does'],
  ])('W2 status %s is unknown', (status, detail) => {
    expect(judged(claudeFile({ status }), running())).toMatchObject({ state: 'unknown', detail, pid: PID });
  });

  test('W2 unknown fields of any shape disturb nothing', () => {
    const text = claudeFile({ peerFeatures: { deep: [[[]]] }, nameSince: null, agent: 'x' });
    expect(judged(text, running())).toMatchObject({ state: 'busy' });
  });
});

test('W3 a long turn, last written of days ago, is busy while its process lives', () => {
  const days = 3 * 24 * 3600 * 1000;
  const text = claudeFile({ updatedAt: STARTED - days, statusUpdatedAt: STARTED - days });
  expect(judged(text, running())).toMatchObject({ state: 'busy', updatedAt: STARTED - days });
});

describe('W4 its process decides whether it lives', () => {
  test.each([
    ['is not there', ABSENT, `its process, PID ${PID}, is gone`],
    ['has exited', running(claudeProcess({ state: 'Z' })), `its process, PID ${PID}, has exited`],
  ])('W4 ended when its process %s, however fresh its file', (_what, seen, detail) => {
    expect(judged(claudeFile({ updatedAt: Date.now() }), seen)).toMatchObject({
      state: 'ended',
      detail,
      identity: null,
    });
  });

  test('W4 a process whose main thread alone has exited lives', () => {
    expect(judged(claudeFile(), running(claudeProcess({ state: 'Z', threads: 4 })))).toMatchObject({ state: 'busy' });
  });

  test('W4 unknown when its process could not be read, and when its start is none of this system', () => {
    expect(judged(claudeFile(), { found: 'failed', why: 'EIO' })).toMatchObject({
      state: 'unknown',
      detail: `its process, PID ${PID}, could not be read: EIO`,
    });
    expect(judged(claudeFile({ procStart: 'yesterday' }), running())).toMatchObject({
      state: 'unknown',
      identity: null,
    });
  });
});

describe('W6 a start on macOS is in UTC, wherever the person is', () => {
  const zone = process.env['TZ'];
  afterEach(() => {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  });

  test.each(['UTC', 'America/New_York', 'Pacific/Auckland'])('W6 in %s', (here) => {
    process.env['TZ'] = here;
    const text = claudeFile({ procStart: 'Sat Sep 12 15:07:13 2026\n', pidDomain: 'darwin', startedAt: undefined });
    const same = running(claudeProcess({ startTime: 'darwin:Sat Sep 12 15:07:13 2026' }));
    expect(judged(text, same)).toMatchObject({ state: 'busy', startedAt: STARTED });
    const later = running(claudeProcess({ startTime: 'darwin:Sat Sep 12 15:07:14 2026' }));
    expect(judged(text, later)).toMatchObject({ state: 'ended' });
  });

  test('W6 a day of one digit is padded with a blank by ps, and not by others', () => {
    const text = claudeFile({ procStart: 'Tue Sep  1 15:07:13 2026', pidDomain: 'darwin' });
    expect(judged(text, running(claudeProcess({ startTime: 'darwin:Tue Sep 1 15:07:13 2026' })))).toMatchObject({
      state: 'busy',
    });
  });
});

test.each([
  ['half written', claudeFile().slice(0, 60)],
  ['empty', ''],
  ['no object', '[]'],
  ['of another PID than its name says', claudeFile({ pid: PID + 1 })],
  ['without a session', claudeFile({ sessionId: undefined })],
  ['with an id that would be an option', claudeFile({ sessionId: '--dangerously' })],
  ['with an id that would be a path', claudeFile({ sessionId: '../x' })],
])('a file that is %s is no session', (_what, text) => {
  expect(parseClaude(NAME, text)).toBeNull();
});

test('a title is one line, and a folder an absolute path', () => {
  const record = parseClaude(NAME, claudeFile({ name: `a\n\u001b[31mb\t${'c'.repeat(9999)}`, cwd: 'shop' }));
  expect(record?.title).toMatch(/^a \[31mb c{100,}…$/u);
  expect(record?.title).toHaveLength(200);
  expect(record?.directory).toBeNull();
});

test('only session files are read: the keys beside them are secrets', () => {
  const names = [NAME, `pid-${PID}.json`, `${PID}.${'f'.repeat(64)}.key`, `${PID}.json.tmp`, 'index.json', '.json'];
  expect(names.filter(isClaudeFile)).toEqual([NAME, `pid-${PID}.json`]);
});

test('W1 CLAUDE_CONFIG_DIR moves the folder', () => {
  expect(claudeFolder({}, '/home/ann')).toBe('/home/ann/.claude/sessions');
  expect(claudeFolder({ CLAUDE_CONFIG_DIR: '/data/claude' }, '/home/ann')).toBe('/data/claude/sessions');
  expect(claudeFolder({ CLAUDE_CONFIG_DIR: 'here' }, '/home/ann')).toBe('/home/ann/.claude/sessions');
});
