import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { someRecord } from '../../../records/fixtures.testing.ts';
import { LocalRecords, RecordChanged } from '../../../records/store.ts';
import { StartHeld } from '../../host.ts';
import { temporaryFolder, until } from '../../local/testing/processes.ts';
import type { RemoteExec } from '../contract.ts';
import { remoteHost } from '../testing/remote.ts';
import { LocalExec, SHELLS } from '../testing/shells.ts';
import { RemoteRecords } from './remote-records.ts';
import { RemoteShell } from './shell.ts';
import { takeStartLock } from './start-lock.ts';

const isRoot = process.getuid?.() === 0;

describe.each(SHELLS)('$name', (shell) => {
  const records = (stateDir: string, pidNamespace = '1', bootId = 'boot', hostname = 'box'): RemoteRecords =>
    new RemoteRecords(new RemoteShell('far', new LocalExec(shell)), {
      stateDir,
      hostname,
      observer: { hostId: 'host', bootId, pidNamespace },
    });

  test('a record comes back as it was written, private and whole, and as a local store reads it', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const base = temporaryFolder();
    const store = records(base);
    expect(await store.list()).toEqual([]);
    expect(await store.problem()).toBeNull();
    const record = someRecord({ directory: '/srv/it\'s "dé"\n$HOME `id` \\' });
    const path = await store.write(record);
    expect(path).toBe(join(base, 'remote/host-1/records', `${record.nonce}.json`));
    expect([statSync(path).mode & 0o777, statSync(store.folder).mode & 0o777]).toEqual([0o600, 0o700]);
    const listed = await store.list();
    expect(listed).toMatchObject([{ path, record, problem: null }]);
    expect(await new LocalRecords(store.folder, store.aside).list()).toEqual(listed);
    expect(await store.read(path)).toEqual(listed[0]);
    await store.write({ ...record, attempt: 2 });
    expect((await store.read(path))?.record?.attempt).toBe(2);
    expect(readdirSync(store.folder)).toEqual([`${record.nonce}.json`]);
    await store.remove(record.nonce);
    await store.remove(record.nonce);
    expect(await store.read(path)).toBeNull();
  });

  test('only the very bytes that were judged are set aside', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const store = records(temporaryFolder());
    const path = await store.write(someRecord());
    const judged = (await store.read(path))?.sha256 ?? '';
    await store.write(someRecord({ attempt: 1 }));
    await expect(store.setAside(path, judged, 0)).rejects.toThrow(RecordChanged);
    expect((await store.read(path))?.record?.attempt).toBe(1);
    const bytes = readFileSync(path);
    const moved = await store.setAside(path, (await store.read(path))?.sha256 ?? '', 0);
    expect(moved).toBe(join(store.aside, `1970-01-01T00-00-00-000Z-${someRecord().nonce}.json`));
    expect(readFileSync(moved)).toEqual(bytes);
    expect(await store.list()).toEqual([]);
    await expect(store.setAside(path, judged, 0)).rejects.toThrow(RecordChanged);
  });

  test('whatever else lies there is told and stays', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const store = records(temporaryFolder());
    mkdirSync(store.folder, { recursive: true });
    const put = (name: string, text: string): void => writeFileSync(join(store.folder, name), text);
    put('empty.json', '');
    put('cut.json', '{"version": 2, "nonce"');
    put('newer.json', '{"version": 99}');
    put('huge.json', 'x'.repeat(70_000));
    put('a b.json', '[]');
    put('.hidden.json.1.tmp', 'x');
    put('notes.txt', 'x');
    symlinkSync('/etc/passwd', join(store.folder, 'link.json'));
    mkdirSync(join(store.folder, 'folder.json'));
    execFileSync('mkfifo', [join(store.folder, 'pipe.json')]);
    const before = readdirSync(store.folder);
    const problems = (await store.list()).map(({ path, problem, newer }) => [
      path.slice(store.folder.length + 1),
      problem,
      newer,
    ]);
    const some = expect.any(String);
    expect(problems).toEqual([
      ['a b.json', some, false],
      ['cut.json', some, false],
      ['empty.json', some, false],
      ['folder.json', some, false],
      ['huge.json', some, false],
      ['link.json', some, false],
      ['newer.json', some, true],
      ['pipe.json', some, false],
    ]);
    expect(readdirSync(store.folder)).toEqual(before);
    const huge = (await store.list()).find(({ path }) => path.endsWith('huge.json'));
    expect(await store.setAside(huge?.path ?? '', huge?.sha256 ?? '', 0)).toContain('huge.json');
  });

  test('a disk that is full or read-only is told by its cause, and the record stays', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    if (!isRoot) return context.skip('only root can mount a small disk');
    const base = temporaryFolder();
    const tiny = join(base, 'tiny');
    mkdirSync(tiny);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k,nr_inodes=20', 'tmpfs', tiny]);
    try {
      const store = records(tiny);
      const path = await store.write(someRecord());
      writeFileSync(join(tiny, 'fill'), 'x'.repeat(4096));
      const large = someRecord({ attempt: 3, directory: `/srv/${'d'.repeat(20_000)}` });
      await expect(store.write(large)).rejects.toMatchObject({ name: 'WriteFailed', code: 'ENOSPC', path });
      expect((await store.read(path))?.record?.attempt).toBe(0);
      expect(readdirSync(store.folder)).toHaveLength(1);
      execFileSync('mount', ['-o', 'remount,ro', tiny]);
      // BusyBox's test tells root that it may write anything.
      await store.list();
      if (shell.name !== 'busybox ash') expect(await store.problem()).toContain('(EROFS)');
      await expect(store.write(someRecord())).rejects.toMatchObject({ code: 'EROFS' });
      await expect(store.remove(someRecord().nonce)).rejects.toMatchObject({ name: 'RecordStuck', code: 'EROFS' });
      const judged = (await store.read(path))?.sha256 ?? '';
      await expect(store.setAside(path, judged, 0)).rejects.toMatchObject({ name: 'RecordStuck', code: 'EROFS' });
      expect((await store.read(path))?.sha256).toBe(judged);
    } finally {
      execFileSync('umount', [tiny]);
    }
  });

  test('D5 machines and namespaces that share a home have records of their own', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const home = temporaryFolder();
    const plain = await remoteHost(new LocalExec(shell, { env: { HOME: home } }));
    const xdg = await remoteHost(new LocalExec(shell, { env: { HOME: home, XDG_STATE_HOME: join(home, 'state') } }));
    const { observer } = plain.contact;
    const key = `${observer.hostId.slice(0, 20)}-${observer.pidNamespace}`;
    expect(plain.store.pathOf('n')).toBe(`${home}/.local/state/rollcall/remote/${key}/records/n.json`);
    expect(xdg.store.pathOf('n')).toBe(`${home}/state/rollcall/remote/${key}/records/n.json`);
    expect(plain.logsDir).toBe(`${home}/.local/state/rollcall/remote/${key}/logs`);
  });

  test('what another PID namespace of this machine recorded is its own affair, until the machine has booted', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const stateDir = temporaryFolder();
    const path = await records(stateDir, '1').write(someRecord());
    const other = records(stateDir, '2');
    expect(await other.list()).toEqual([]);
    const later = records(stateDir, '2', 'another boot');
    const [file] = await later.list();
    expect(file).toMatchObject({ path, record: someRecord() });
    expect(await later.read(path)).toEqual(file);
    const moved = await later.setAside(path, file?.sha256 ?? '', 0);
    expect(moved.startsWith(join(stateDir, 'remote/host-2/set-aside/'))).toBe(true);
    expect(await records(stateDir, '1').list()).toEqual([]);
    // Another machine with a name that begins alike is none of the family.
    mkdirSync(join(stateDir, 'remote/hostile-1/records'), { recursive: true });
    writeFileSync(join(stateDir, `remote/hostile-1/records/${someRecord().nonce}.json`), JSON.stringify(someRecord()));
    expect(await later.list()).toEqual([]);
  });

  test('D5 what a machine with the same id and another name, or since this one booted, recorded is not over', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const stateDir = temporaryFolder();
    const now = new Date(Date.now() + 1000).toISOString();
    await records(stateDir, '1', 'boot', 'twin').write(someRecord());
    expect(await records(stateDir, '2', 'another boot').list()).toEqual([]);
    await records(stateDir, '1').write(someRecord({ writtenAt: now }));
    expect(await records(stateDir, '2', 'another boot').list()).toEqual([]);
    // One that has no name in it was written by an earlier Rollcall, perhaps by a clock that is minutes off.
    const booted = Date.now() - uptime() * 1000;
    const store = records(stateDir, '1');
    const put = (at: number): void => {
      mkdirSync(store.folder, { recursive: true });
      const text = JSON.stringify(someRecord({ writtenAt: new Date(at).toISOString() }));
      writeFileSync(store.pathOf(someRecord().nonce), text);
    };
    put(booted - 60_000);
    expect(await records(stateDir, '2', 'another boot').list()).toEqual([]);
    put(booted - 3_600_000);
    expect(await records(stateDir, '2', 'another boot').list()).toHaveLength(1);
    // What a twin has planned in a folder that both have is left to it.
    await records(stateDir, '2', 'boot', 'twin').write(someRecord({ state: 'planned', spawned: null, server: null }));
    expect((await records(stateDir, '2').list()).map(({ path }) => path)).toEqual([]);
    expect(await records(stateDir, '2', 'boot', 'twin').list()).toHaveLength(1);
  });

  test('a record of another namespace is removed where it is, and no more of them are told than can be read', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const stateDir = temporaryFolder();
    const path = await records(stateDir, '1').write(someRecord());
    const later = records(stateDir, '2', 'another boot');
    expect(await later.list()).toMatchObject([{ path }]);
    await later.remove(someRecord().nonce);
    expect(await later.list()).toEqual([]);
    expect(await records(stateDir, '1').list()).toEqual([]);
    for (let made = 0; made < 100; made += 1) {
      const folder = join(stateDir, `remote/host-${made + 10}/records`);
      mkdirSync(folder, { recursive: true });
      const nonce = randomUUID();
      writeFileSync(join(folder, `${nonce}.json`), JSON.stringify(someRecord({ nonce })));
    }
    const told = await later.list();
    expect(told).toHaveLength(64);
    // The rest follows when these are out of the way.
    for (const { path } of told) rmSync(path);
    expect(await later.list()).toHaveLength(36);
  });

  describe('the lock of starts', () => {
    const far = (): RemoteShell => new RemoteShell('far', new LocalExec(shell));

    test('is one start at a time, whoever asks', async (context) => {
      if (shell.missing !== null) context.skip(shell.missing);
      const lock = join(temporaryFolder(), 'new', 'start.lock');
      let inside = 0;
      let most = 0;
      await Promise.all(
        Array.from({ length: 4 }, async (_, index) => {
          const release = await takeStartLock(far(), lock, `nonce-${index}`);
          inside += 1;
          most = Math.max(most, inside);
          // By the time that another start is turned away, the others would have come in, too.
          await expect(takeStartLock(far(), lock, 'one more', { longestMs: 300 })).rejects.toThrow(StartHeld);
          inside -= 1;
          await release();
        }),
      );
      expect(most).toBe(1);
      expect(readdirSync(join(lock, '..'))).toEqual([]);
    });

    test('held by a living start is waited for, and told; one of another boot or of long ago is broken', async (context) => {
      if (shell.missing !== null) context.skip(shell.missing);
      const lock = join(temporaryFolder(), 'start.lock');
      const release = await takeStartLock(far(), lock, 'first');
      await expect(takeStartLock(far(), lock, 'second', { longestMs: 300 })).rejects.toThrow(StartHeld);
      // Another's lock is not released by whoever does not hold it.
      const text = readFileSync(lock, 'utf8');
      expect(text).toMatch(/^first \d+ [0-9a-f-]{36}\n$/u);
      const taken = await takeStartLock(far(), lock, 'third', { staleSeconds: 0 });
      await release();
      expect(readFileSync(lock, 'utf8')).toMatch(/^third /u);
      await taken();
      writeFileSync(lock, `old 5 00000000-0000-0000-0000-000000000000\n`);
      await (await takeStartLock(far(), lock, 'fourth'))();
      writeFileSync(lock, '');
      await (await takeStartLock(far(), lock, 'fifth', { longestMs: 60_000 }))();
      expect(readdirSync(join(lock, '..'))).toEqual([]);
    });

    test('D23 on a full disk it is done without, and none is left behind for others', async (context) => {
      if (shell.missing !== null) context.skip(shell.missing);
      if (!isRoot) return context.skip('only root can mount a small disk');
      const tiny = temporaryFolder();
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', tiny]);
      try {
        writeFileSync(join(tiny, 'fill'), 'x'.repeat(4096));
        const release = await takeStartLock(far(), join(tiny, 'start.lock'), 'first', { longestMs: 8000 });
        expect(readdirSync(tiny)).toEqual(['fill']);
        await release();
      } finally {
        execFileSync('umount', [tiny]);
      }
    });

    test('D23 a release that never arrived keeps nobody of this process waiting', async (context) => {
      if (shell.missing !== null) context.skip(shell.missing);
      const lock = join(temporaryFolder(), 'start.lock');
      const inner = new LocalExec(shell);
      let lost: 'no' | 'question' | 'answer' = 'no';
      const link: RemoteExec = {
        async exec(input, deadlineMs) {
          if (lost === 'question') throw new Error('the link is lost');
          const result = await inner.exec(input, deadlineMs);
          if (lost === 'answer') throw new Error('the link is lost');
          return result;
        },
      };
      const shaky = new RemoteShell('far', link);
      const release = await takeStartLock(shaky, lock, 'first');
      await expect(takeStartLock(far(), lock, 'second', { longestMs: 300 })).rejects.toThrow(StartHeld);
      lost = 'question';
      await release();
      expect(readFileSync(lock, 'utf8')).toMatch(/^first /u);
      lost = 'answer';
      await expect(takeStartLock(shaky, lock, 'third')).rejects.toThrow('lost');
      expect(readFileSync(lock, 'utf8')).toMatch(/^third /u);
      await (await takeStartLock(far(), lock, 'fourth', { longestMs: 60_000 }))();
      expect(readdirSync(join(lock, '..'))).toEqual([]);
    });

    test('who is told to stop waits no longer and leaves no lock behind', async (context) => {
      if (shell.missing !== null) context.skip(shell.missing);
      const lock = join(temporaryFolder(), 'start.lock');
      const release = await takeStartLock(far(), lock, 'first');
      const abort = new AbortController();
      const inner = new LocalExec(shell);
      let running = 0;
      const exec: RemoteExec['exec'] = (...args) => {
        running += 1;
        return inner.exec(...args).finally(() => {
          running -= 1;
        });
      };
      const waiting = takeStartLock(new RemoteShell('far', { exec }), lock, 'second', {}, abort.signal);
      await until('its script waits there', () => running === 1);
      abort.abort();
      await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
      await release();
      // Its script still waits there, and gives back what it gets.
      await until('nobody holds it', () => inner.counted === 2 && running === 0);
      expect(readdirSync(join(lock, '..'))).toEqual([]);
      await expect(takeStartLock(far(), lock, 'third', {}, abort.signal)).rejects.toMatchObject({ name: 'AbortError' });
      expect(readdirSync(join(lock, '..'))).toEqual([]);
    });

    test('D23 that cannot be made is done without', async (context) => {
      if (shell.missing !== null) context.skip(shell.missing);
      const folder = temporaryFolder();
      writeFileSync(join(folder, 'file'), '');
      const release = await takeStartLock(far(), join(folder, 'file', 'start.lock'), 'first');
      await release();
      rmSync(join(folder, 'file'));
      mkdirSync(join(folder, 'file', 'start.lock'), { recursive: true });
      await (await takeStartLock(far(), join(folder, 'file', 'start.lock'), 'second', { longestMs: 8000 }))();
    });
  });
});
