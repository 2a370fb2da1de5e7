import { describe, expect, onTestFinished, test } from 'vitest';
import type { ProcessInfo } from '../../hosts/host.ts';
import { until } from '../../hosts/local/testing/processes.ts';
import {
  claudeFile,
  claudeProcess,
  entireFile,
  OTHER,
  PID,
  PLACE,
  pointerFile,
  SESSION,
  STARTED,
} from './fixtures.testing.ts';
import type { ForeignIo } from './io.ts';
import { ForeignSessions } from './watcher.ts';

const CLAUDE = '/home/ann/.claude/sessions';
const LIVE = '/home/ann/.cache/entire/live-sessions';
const SHOP = '/home/ann/shop/.git/entire-sessions';
const NAME = `${PID}.json`;

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: made by the test`), { code });
}

/** A file system of texts, whose failures can be switched on. */
class Disk implements ForeignIo {
  readonly files = new Map<string, string | Error>();
  readonly repositories = new Map<string, string>();
  watchFails: Error | null = null;
  listFails: Error | null = null;
  readings = 0;
  watched = new Map<string, { change: () => void; error: (error: unknown) => void }>();

  async list(folder: string, wants: (name: string) => boolean, limit: number) {
    if (this.listFails !== null) throw this.listFails;
    if (folder === CLAUDE) this.readings += 1;
    const inside = [...this.files.keys()].filter((path) => path.startsWith(`${folder}/`));
    const names = inside.map((path) => path.slice(folder.length + 1)).filter(wants);
    return { names: names.slice(0, limit), more: names.length > limit };
  }

  async read(path: string) {
    const text = this.files.get(path);
    if (text instanceof Error) throw text;
    return text === undefined ? null : ({ same: false, text, stamp: null } as const);
  }

  watch(folder: string, change: () => void, error: (error: unknown) => void) {
    if (this.watchFails !== null) throw this.watchFails;
    this.watched.set(folder, { change, error });
    return () => void this.watched.delete(folder);
  }

  async commonDir(folder: string) {
    return this.repositories.get(folder) ?? null;
  }
}

interface Scene {
  readonly disk: Disk;
  readonly foreign: ForeignSessions;
  readonly processes: Map<number, ProcessInfo | Error>;
  readonly changes: () => number;
}

/** Polls so seldom that only what a test does is seen, unless it says otherwise. */
function follow(disk: Disk, pollMs = 3_600_000, unwatchedPollMs = pollMs): Scene {
  const processes = new Map<number, ProcessInfo | Error>([[PID, claudeProcess()]]);
  let changes = 0;
  const foreign = new ForeignSessions({
    env: {},
    home: '/home/ann',
    place: PLACE,
    inspect: async (pid) => {
      const found = processes.get(pid);
      if (found instanceof Error) throw found;
      return found ?? null;
    },
    onChange: () => {
      changes += 1;
    },
    io: disk,
    timing: { settleMs: 1, pollMs, unwatchedPollMs, graceMs: 20, showEndedMs: 20 },
    now: () => STARTED + 3_600_000,
  });
  onTestFinished(() => foreign.close());
  return { disk, foreign, processes, changes: () => changes };
}

function diskWith(files: Readonly<Record<string, string>>): Disk {
  const disk = new Disk();
  for (const [path, text] of Object.entries(files)) disk.files.set(path, text);
  return disk;
}

const one = ({ foreign }: Scene) => foreign.sessions[0];

test('W1 a change in the folder is told, and nothing is told where nothing changed', async () => {
  const scene = follow(diskWith({ [`${CLAUDE}/${NAME}`]: claudeFile() }));
  await scene.foreign.refresh();
  expect(scene.foreign.sessions).toMatchObject([{ id: SESSION, state: 'busy' }]);
  expect(scene.changes()).toBe(1);

  const before = scene.foreign.sessions;
  await scene.foreign.refresh();
  expect(scene.foreign.sessions).toBe(before);
  expect(scene.changes()).toBe(1);

  scene.disk.files.set(`${CLAUDE}/${NAME}`, claudeFile({ status: 'idle' }));
  scene.disk.watched.get(CLAUDE)?.change();
  await until('the change', () => one(scene)?.state === 'idle');
  expect(scene.changes()).toBe(2);
});

describe('a session whose file goes away', () => {
  async function gone(): Promise<Scene> {
    const scene = follow(diskWith({ [`${CLAUDE}/${NAME}`]: claudeFile() }));
    await scene.foreign.refresh();
    scene.disk.files.delete(`${CLAUDE}/${NAME}`);
    return scene;
  }

  test('W4 has ended with its process, and is listed so before it goes', async () => {
    const scene = await gone();
    await scene.foreign.refresh();
    expect(one(scene)).toMatchObject({ state: 'unknown', detail: 'its file is gone, and its process is not' });
    scene.processes.delete(PID);
    await scene.foreign.refresh();
    expect(one(scene)).toMatchObject({
      state: 'ended',
      endedBy: 'carrier',
      detail: `its process, PID ${PID}, is gone`,
      identity: null,
    });
    await until('it is no longer listed', async () => {
      await scene.foreign.refresh();
      return scene.foreign.sessions.length === 0;
    });
  });

  test('W4 has ended after a while, by itself, though its process goes on', async () => {
    const scene = await gone();
    await scene.foreign.refresh();
    await until('it has ended', () => one(scene)?.state === 'ended');
    expect(one(scene)).toMatchObject({ endedBy: 'tool', identity: null });
  });

  test('goes on when the file was only written anew', async () => {
    const scene = await gone();
    await scene.foreign.refresh();
    scene.disk.files.set(`${CLAUDE}/${NAME}`, claudeFile({ status: 'idle' }));
    await scene.foreign.refresh();
    expect(scene.foreign.sessions).toMatchObject([{ state: 'idle', endedBy: null }]);
  });

  test('W4 its process reads as another one by the same number: it has ended', async () => {
    const scene = await gone();
    scene.processes.set(PID, claudeProcess({ startTime: 'linux:77' }));
    await scene.foreign.refresh();
    expect(one(scene)).toMatchObject({ state: 'ended', endedBy: 'carrier' });
  });

  test('or tells of another session: the first one has ended, the second one lives', async () => {
    const scene = await gone();
    scene.disk.files.set(`${CLAUDE}/${NAME}`, claudeFile({ sessionId: OTHER }));
    await scene.foreign.refresh();
    await until('the first one has ended', () => one(scene)?.state === 'ended');
    expect(scene.foreign.sessions).toMatchObject([
      { id: SESSION, state: 'ended', endedBy: 'tool' },
      { id: OTHER, state: 'busy' },
    ]);
  });
});

test('W4 a process that is gone ends its session, though nobody touches its file', async () => {
  const scene = follow(diskWith({ [`${CLAUDE}/${NAME}`]: claudeFile() }));
  await scene.foreign.refresh();
  scene.processes.delete(PID);
  await scene.foreign.refresh();
  expect(one(scene)).toMatchObject({ state: 'ended', identity: null });
});

test('W4 a process that cannot be read for a moment ends nothing', async () => {
  const scene = follow(diskWith({ [`${CLAUDE}/${NAME}`]: claudeFile() }));
  await scene.foreign.refresh();
  scene.processes.set(PID, new Error('EIO'));
  await scene.foreign.refresh();
  expect(one(scene)).toMatchObject({ state: 'unknown' });
});

describe('W5 what the system refuses is said, and nothing breaks', () => {
  test.each([
    ['ENOSPC', 'Raise fs.inotify.max_user_watches to have them watched.'],
    ['EMFILE', 'Raise fs.inotify.max_user_instances to have them watched.'],
    ['EACCES', 'Make it readable for you to have it watched.'],
  ])('W5 %s on watch: polled instead, with a sentence, until it can be watched', async (code, remedy) => {
    const disk = diskWith({ [`${CLAUDE}/${NAME}`]: claudeFile() });
    disk.watchFails = systemError(code);
    const scene = follow(disk, 3_600_000, 5);
    await until('the first reading', () => scene.foreign.sessions.length === 1);
    expect(scene.foreign.problem).toBe(
      `Session files in ${CLAUDE} cannot be watched (${code}) and are read every 0.005 seconds instead. ${remedy}`,
    );
    disk.files.set(`${CLAUDE}/${NAME}`, claudeFile({ status: 'idle' }));
    await until('the polled change', () => one(scene)?.state === 'idle');
    disk.watchFails = null;
    await until('the end of the trouble', () => scene.foreign.problem === null);
    expect([...disk.watched.keys()]).toEqual([CLAUDE, LIVE]);
  });

  test('W5 a watch that breaks later is one that failed', async () => {
    const scene = follow(diskWith({ [`${CLAUDE}/${NAME}`]: claudeFile() }));
    await scene.foreign.refresh();
    scene.disk.watched.get(CLAUDE)?.error(systemError('ENOSPC'));
    await until('the sentence', () => scene.foreign.problem?.includes('ENOSPC') === true);
    expect(scene.foreign.sessions).toHaveLength(1);
  });

  test('W5 a folder that is not there is no trouble', async () => {
    const disk = new Disk();
    disk.watchFails = systemError('ENOENT');
    const scene = follow(disk);
    await scene.foreign.refresh();
    expect(scene.foreign.problem).toBeNull();
    expect(scene.changes()).toBe(0);
  });

  test('W5 a folder or a file that cannot be read ends no session', async () => {
    const scene = follow(diskWith({ [`${CLAUDE}/${NAME}`]: claudeFile() }));
    await scene.foreign.refresh();
    scene.disk.listFails = systemError('EMFILE');
    await scene.foreign.refresh();
    expect(one(scene)).toMatchObject({ id: SESSION, state: 'unknown', detail: 'its file cannot be read just now' });
    expect(scene.foreign.problem).toContain('(EMFILE)');
    scene.disk.listFails = null;
    scene.disk.files.set(`${CLAUDE}/${NAME}`, systemError('EMFILE'));
    await scene.foreign.refresh();
    expect(one(scene)).toMatchObject({ id: SESSION, state: 'unknown' });
    scene.disk.files.set(`${CLAUDE}/${NAME}`, '{"pid": 48');
    await scene.foreign.refresh();
    expect(one(scene)).toMatchObject({ id: SESSION, state: 'unknown' });
    scene.disk.files.set(`${CLAUDE}/${NAME}`, claudeFile());
    await scene.foreign.refresh();
    expect(one(scene)).toMatchObject({ state: 'busy', detail: null });
    expect(scene.foreign.problem).toBeNull();
  });
});

test('more files than are read are said', async () => {
  const disk = new Disk();
  for (let pid = 10_000; pid < 12_001; pid += 1) disk.files.set(`${CLAUDE}/${pid}.json`, '{}');
  const scene = follow(disk);
  await scene.foreign.refresh();
  expect(scene.foreign.problem).toContain(`more session files in ${CLAUDE} than are read`);
});

test('W1 an old file says nothing of a PID that a new one proves', async () => {
  const legacy = JSON.stringify({ session_id: OTHER, cwd: '/home/ann/old' });
  const scene = follow(diskWith({ [`${CLAUDE}/${NAME}`]: claudeFile(), [`${CLAUDE}/pid-${PID}.json`]: legacy }));
  await scene.foreign.refresh();
  expect(scene.foreign.sessions.map(({ id }) => id)).toEqual([SESSION]);
  scene.disk.files.delete(`${CLAUDE}/${NAME}`);
  await until('the new one has ended', async () => {
    await scene.foreign.refresh();
    return scene.foreign.sessions.length === 1 && one(scene)?.id === OTHER;
  });
  expect(one(scene)).toMatchObject({ state: 'unknown', identity: null, at: { pid: PID } });
});

test('a session that was resumed elsewhere is listed once, by the file whose process lives', async () => {
  const stale = claudeFile({ pid: PID + 1, procStart: '5', status: 'idle', updatedAt: STARTED + 9_999_999 });
  const scene = follow(diskWith({ [`${CLAUDE}/${PID + 1}.json`]: stale, [`${CLAUDE}/${NAME}`]: claudeFile() }));
  await scene.foreign.refresh();
  expect(scene.foreign.sessions).toMatchObject([{ id: SESSION, pid: PID, state: 'busy' }]);
});

describe('entire', () => {
  const id = 'ses_3f2a';
  const file = entireFile({ session_id: id });

  test('is read in the repositories of the folders that are named', async () => {
    const scene = follow(diskWith({ [`${SHOP}/${id}.json`]: file }));
    scene.disk.repositories.set('/home/ann/shop/web', '/home/ann/shop/.git');
    await scene.foreign.refresh();
    expect(scene.foreign.sessions).toEqual([]);
    scene.foreign.lookIn(['/home/ann/shop/web', '/tmp']);
    await until('the session', () => scene.foreign.sessions.length === 1);
    expect(one(scene)).toMatchObject({ tool: 'entire', id, state: 'busy', pid: PID });
    expect(scene.disk.watched.has(SHOP)).toBe(true);
    scene.foreign.lookIn([]);
    await scene.foreign.refresh();
    expect(scene.disk.watched.has(SHOP)).toBe(false);
  });

  test('is read where its pointers lead, and a pointer that leads nowhere is unknown', async () => {
    const scene = follow(
      diskWith({
        [`${SHOP}/${id}.json`]: file,
        [`${LIVE}/${id}.json`]: pointerFile({ session_id: id }),
        [`${LIVE}/${OTHER}.json`]: pointerFile({ session_id: OTHER, common_dir: '/gone/.git' }),
      }),
    );
    // The first reading alone, which must watch where its own pointers lead.
    await until('the first reading', () => scene.changes() === 1);
    expect(scene.foreign.sessions).toMatchObject([
      { id: OTHER, state: 'unknown' },
      { id, state: 'busy', path: `${SHOP}/${id}.json` },
    ]);
    expect([...scene.disk.watched.keys()]).toEqual([CLAUDE, LIVE, SHOP, '/gone/.git/entire-sessions']);
  });

  test('says nothing of a session that Claude itself tells of, nor once that is over', async () => {
    const files = { [`${CLAUDE}/${NAME}`]: claudeFile(), [`${SHOP}/${SESSION}.json`]: entireFile() };
    const scene = follow(diskWith(files));
    scene.disk.repositories.set('/home/ann/shop', '/home/ann/shop/.git');
    scene.foreign.lookIn(['/home/ann/shop']);
    await until('the session', () => scene.foreign.sessions.length === 1);
    await scene.foreign.refresh();
    expect(scene.foreign.sessions).toMatchObject([{ tool: 'claude', id: SESSION }]);
    scene.disk.files.delete(`${CLAUDE}/${NAME}`);
    await scene.foreign.refresh();
    expect(scene.foreign.sessions).toMatchObject([{ tool: 'claude', state: 'unknown' }]);
    await until('nobody tells of it', async () => {
      await scene.foreign.refresh();
      return scene.foreign.sessions.length === 0;
    });
  });
});

test('once closed it reads and tells no more', async () => {
  const scene = follow(diskWith({}), 5, 5);
  await until('some readings', () => scene.disk.readings > 2);
  scene.foreign.close();
  const readings = scene.disk.readings;
  scene.disk.files.set(`${CLAUDE}/${NAME}`, claudeFile());
  await scene.foreign.refresh();
  expect(scene.disk.readings).toBe(readings);
  expect(scene.disk.watched.size).toBe(0);
  expect(scene.changes()).toBe(0);
});
