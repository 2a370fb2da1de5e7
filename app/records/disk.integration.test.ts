/** A state folder on a disk that is full, fills up, or cannot be written: the real command in a mount namespace of its own. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { bundleCommand, CommandHome, type Ran, running } from '../cli/command.testing.ts';
import { bundle } from '../hosts/local/testing/bundle.ts';
import { installFake } from '../supervisor/testing/fake-opencode.ts';
import { livingOf, Started } from '../supervisor/testing/processes.ts';

const CAN_MOUNT =
  process.platform === 'linux' && process.getuid?.() === 0 && spawnSync('unshare', ['-m', 'true']).status === 0;

/** The app's supervisor without its window: prints what it shows, then goes. */
const APP = `
import { resolvePaths } from '../config/paths.ts';
import { acquireWriter } from '../writer/writer-lock.ts';
import { inlineLooker } from '../hosts/local/look/looker.ts';
import { recognise } from '../servers/recognition/recognise.ts';
import { openLocalCore } from '../core/local-core.ts';
const paths = resolvePaths({ env: process.env, platform: process.platform, uid: process.getuid(), home: process.env.HOME });
const lock = await acquireWriter(paths.writerLock, { holder: 'app', version: '0', fallbackFolder: paths.runtimeDir });
const core = await openLocalCore({ paths, lock, mode: 'app', looker: inlineLooker(recognise) });
console.log(JSON.stringify({
  faults: core.roll.alerts.filter(({ level }) => level === 'fault'),
  standings: core.roll.servers.filter(({ directory }) => directory === process.env.HOME).map(({ standing }) => standing),
}));
await core.close(false, 1000);
process.exit(0);
`;

let command: string;
let app: string;
let root: string;
let program: string;
let home: CommandHome;
let started: Started;

beforeAll(async () => {
  command = await bundleCommand();
  app = (await bundle({ code: APP, beside: new URL('./disk.ts', import.meta.url) })).pathname;
});
beforeEach((context) => {
  if (!CAN_MOUNT) context.skip('mounting needs root and a mount namespace');
  root = mkdtempSync(join(tmpdir(), 'rollcall-disk-'));
  program = installFake(root);
  home = new CommandHome(root, { leak: { graceSeconds: 0 }, start: { opencode: { path: program } } });
  mkdirSync(home.paths.stateDir, { mode: 0o700 });
  started = new Started();
});
afterEach(async () => {
  if (!CAN_MOUNT) return;
  for (const pid of servers()) started.note(pid);
  await started.endAll();
  rmSync(root, { recursive: true, force: true });
});

const servers = (): number[] => livingOf([program]);

/**
 * Runs shell lines in a mount namespace of their own, with a small disk at the state folder. In them `rollcall NAME
 * WORDS…` is the command, `app NAME` the app, and what they said is told by NAME.
 */
async function onSmallDisk(size: string, lines: readonly string[]): Promise<Record<string, Ran>> {
  const out = join(root, 'said');
  mkdirSync(out, { recursive: true });
  const said = `>"${out}/$name.out" 2>"${out}/$name.err"; echo $? >"${out}/$name.code"`;
  const script = [
    `rollcall() { name=$1; shift; '${process.execPath}' '${command}' "$@" ${said}; }`,
    `app() { name=$1; '${process.execPath}' '${app}' ${said}; }`,
    `fill() { dd if=/dev/urandom of="$STATE/filling" bs=512 count=100000 2>/dev/null; sync; }`,
    `listing() { name=$1; (cd "$STATE"; find . -type f | sort) ${said}; }`,
    `mount -t tmpfs -o size=${size},mode=0700 tmpfs "$STATE"`,
    ...lines,
  ];
  const env = { ...home.env, STATE: home.paths.stateDir };
  const ran = await running(['unshare', '-m', '--propagation', 'private', 'sh', '-c', script.join('\n')], env).ended;
  expect(ran.err).toBe('');
  const names = readdirSync(out).filter((name) => name.endsWith('.code'));
  return Object.fromEntries(
    names.map((file) => {
      const name = file.slice(0, -'.code'.length);
      const read = (kind: string) => readFileSync(join(out, `${name}.${kind}`), 'utf8');
      return [name, { code: Number(read('code')), signal: null, out: read('out'), err: read('err') }];
    }),
  );
}

test('a full disk: a start starts nothing and says so in one sentence, and reading works', async () => {
  const said = await onSmallDisk('256k', [
    'mkdir -m 700 "$STATE/records"; echo "{" >"$STATE/records/torn.json"; fill',
    `rollcall start start opencode --dir '${root}'`,
    'rollcall list list',
    'rollcall records records',
    'listing files',
  ]);
  expect(said['start']?.code).toBe(1);
  expect(said['start']?.err).toMatch(
    /^.* was not started: its record could not be written to \S+records \(ENOSPC\)\. Free some space on that disk, then try again\.$/mu,
  );
  expect(servers()).toEqual([]);
  expect([said['list']?.code, said['records']?.code]).toEqual([0, 0]);
  expect(said['files']?.out).not.toMatch(/\.tmp$/mu);
  expect(said['files']?.out).toMatch(/torn\.json/u);
}, 120_000);

test('a disk that fills up later: what runs is stopped and written down anyway', async () => {
  const said = await onSmallDisk('1m', [
    `rollcall start start opencode --dir '${root}'`,
    'fill',
    `rollcall second start opencode --dir '${root}' --port 1`,
    'rollcall list list --json',
    `pid=$(sed -n 's/^pid *//p' '${join(root, 'said')}/start.out')`,
    'rollcall stop stop "$pid"',
    'rollcall audit audit --json',
    'listing files',
  ]);
  expect(said['start']?.code).toBe(0);
  expect(said['second']?.code).toBe(1);
  expect(said['stop'], said['stop']?.err).toMatchObject({ code: 0, out: expect.stringMatching(/is gone/u) });
  expect(servers()).toEqual([]);
  expect(said['files']?.out).not.toMatch(/records\/|\.tmp$/mu);
  const { entries } = JSON.parse(said['audit']?.out ?? '') as { entries: { event: string }[] };
  expect(entries.map(({ event }) => event)).toEqual(
    expect.arrayContaining(['signal-intent', 'signal-outcome', 'stopped']),
  );
}, 120_000);

test('a disk that fills up during a start: what was started is ended again, and that is said', async () => {
  const filler = join(root, 'bin');
  mkdirSync(filler);
  const shim = join(filler, 'opencode');
  writeFileSync(
    shim,
    `#!/bin/sh\ndd if=/dev/urandom of='${home.paths.stateDir}/filling' bs=512 count=100000 2>/dev/null\nexec '${program}' "$@"\n`,
    { mode: 0o755 },
  );
  writeFileSync(home.paths.configFile, JSON.stringify({ start: { opencode: { path: shim } } }), { mode: 0o600 });
  const said = await onSmallDisk('1m', [`rollcall start start opencode --dir '${root}'`, 'listing files']);
  expect(said['start']?.code).toBe(1);
  expect(said['start']?.err).toContain('ENOSPC');
  expect(servers()).toEqual([]);
  expect(said['files']?.out).not.toMatch(/records\/.*json|\.tmp$/mu);
}, 120_000);

test('a read-only state folder: everything is shown, nothing is done, both say why; writable again, it goes on', async () => {
  const said = await onSmallDisk('1m', [
    `rollcall start start opencode --dir '${root}'`,
    `pid=$(sed -n 's/^pid *//p' '${join(root, 'said')}/start.out')`,
    // A mount over it: the server's log stays open for writing below.
    'mount --bind "$STATE" "$STATE"; mount -o remount,bind,ro "$STATE"',
    'rollcall list list',
    'rollcall explain explain "$pid"',
    'rollcall records records',
    'rollcall audit audit',
    'app app',
    'rollcall stop stop "$pid"',
    `mkdir '${root}/other'; rollcall other start opencode --dir '${root}/other'`,
    `kill -0 "$pid" && echo yes >'${join(root, 'lives')}'`,
    'umount "$STATE"',
    'rollcall again stop "$pid"',
  ]);
  for (const name of ['list', 'explain', 'records', 'audit'])
    expect(said[name], name).toMatchObject({ code: 0, err: '' });
  expect(said['list']?.out).toMatch(/Supervised +opencode/u);
  const shown = JSON.parse(said['app']?.out || said['app']?.err || '') as { faults: object[]; standings: string[] };
  expect(shown.standings).toEqual(['supervised']);
  expect(shown.faults).toContainEqual(
    expect.objectContaining({ id: 'records-unkept', detail: expect.stringContaining('EROFS') }),
  );
  expect(said['stop']?.code).toBe(1);
  expect(said['stop']?.err).toContain('EROFS');
  expect(said['other']?.code).toBe(1);
  expect(said['other']?.err).toContain('EROFS');
  expect(readFileSync(join(root, 'lives'), 'utf8')).toBe('yes\n');
  expect(said['again']?.code).toBe(0);
  expect(servers()).toEqual([]);
}, 120_000);
