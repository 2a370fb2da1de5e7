import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FrameReader } from '../ipc/frames.ts';
import { ControlUnavailable } from '../ipc/socket-path.ts';
import type { NavigationTarget } from '../roll/channels.ts';
import type { CommandResult } from '../roll/commands.ts';
import type { Roll } from '../roll/schema.ts';
import { ControlAbsent, ControlFailed, ControlLost, connectControl } from './client.ts';
import { FakeCore, fakeRoll, fakeServer } from './fake-core.testing.ts';
import { frame, PROTOCOL_VERSION, REQUEST_LIMIT } from './protocol.ts';
import { type ControlServer, serveControl } from './server.ts';

const VERSION = { version: '0.1.0' };
let folder = '';
let socketPath = '';
let core: FakeCore;
let server: ControlServer | null = null;
let shown: (NavigationTarget | null)[] = [];
const closers: (() => void)[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-control-'));
  socketPath = join(folder, 'run', 'control.sock');
  core = new FakeCore();
  shown = [];
});

afterEach(async () => {
  for (const close of closers.splice(0)) close();
  await server?.close();
  server = null;
  rmSync(folder, { recursive: true, force: true });
});

async function serve(): Promise<void> {
  server = await serveControl({ core, socketPath, onShow: (place) => shown.push(place), ...VERSION });
}

async function client(options: { pingEveryMs?: number; silentMs?: number } = {}) {
  const connected = await connectControl(socketPath, 60_000, { ...VERSION, ...options });
  closers.push(() => connected.close());
  return connected;
}

async function raw(): Promise<Socket> {
  const socket = connect(socketPath);
  closers.push(() => socket.destroy());
  await new Promise<void>((done, fail) => {
    socket.once('connect', done);
    socket.once('error', fail);
  });
  // A reset after a refusal is what these tests provoke.
  socket.on('error', () => undefined);
  return socket;
}

/** Everything the server says until it closes. */
function untilClosed(socket: Socket): Promise<string> {
  return new Promise((done) => {
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('utf8');
    });
    socket.on('close', () => done(text));
  });
}

const HELLO = frame({ type: 'hello', protocol: PROTOCOL_VERSION, version: '0.1.0', pid: 4000 });

test('every request makes the round trip', async () => {
  await serve();
  const one = await client();
  expect(one.app).toEqual({ pid: process.pid, version: '0.1.0' });
  expect(one.roll).toEqual(core.roll);

  const results: CommandResult = {
    ok: false,
    failure: { code: 'refused-owned', message: 'It was not signalled.', remedy: 'Use --force.', detail: null },
    results: [],
  };
  core.onRun = async () => results;
  expect(await one.run({ command: 'reap', targets: 'leaked', confirmed: true, force: false }, 'window')).toEqual(
    results,
  );
  expect(core.ran).toEqual([
    { command: { command: 'reap', targets: 'leaked', confirmed: true, force: false }, by: 'cli' },
  ]);
  expect(await one.plan(['00000000000000aa'])).toEqual({ rows: [], freesBytes: 0, processes: 0, busy: 0 });
  expect(core.planned).toEqual([['00000000000000aa']]);
  const found = { server: fakeServer(4711, 'leaked'), leftover: null, text: '' };
  core.onExplain = async () => found;
  expect(await one.explain('4711')).toEqual(found);
  expect((await one.readLog('00000000000000aa')).text).toBe('listening\n');
  const place: NavigationTarget = { view: 'records', server: null, dialog: 'none', kind: null };
  await one.show(place);
  await one.show(null);
  expect(shown).toEqual([place, null]);
});

test('after an act the roll is at least as new as its answer', async () => {
  await serve();
  const one = await client();
  core.onRun = async () => {
    core.roll = fakeRoll(9, { servers: [] });
    return { ok: true, message: 'Reaped.', server: null, results: [] };
  };
  await one.run({ command: 'look' }, 'cli');
  expect(one.roll.version).toBe(9);
});

test('a new roll reaches every subscriber, and an older one never replaces a newer', async () => {
  await serve();
  const [one, two] = [await client(), await client()];
  const seen: number[] = [];
  one.subscribe((roll) => seen.push(roll.version));
  const both = Promise.all(
    [one, two].map((each) => new Promise<Roll>((done) => each.subscribe((roll) => roll.version === 3 && done(roll)))),
  );
  core.push(fakeRoll(2));
  core.push(fakeRoll(3));
  await both;
  core.push(fakeRoll(2));
  core.push(fakeRoll(4));
  await expect.poll(() => one.roll.version).toBe(4);
  expect(seen).toEqual([...seen].sort((a, b) => a - b));
});

test('a fault inside the core is an error of that request alone', async () => {
  await serve();
  const one = await client();
  core.onPlan = () => Promise.reject(new Error('the look failed'));
  await expect(one.plan('leaked')).rejects.toThrow('the look failed');
  expect((await one.explain('1')).text).toContain('PID 1');
});

test('socket 0600 in a folder 0700; both go when the server closes', async () => {
  await serve();
  expect(statSync(socketPath).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, 'run')).mode & 0o777).toBe(0o700);
  await server?.close();
  expect(existsSync(socketPath)).toBe(false);
  await expect(client()).rejects.toBeInstanceOf(ControlAbsent);
});

test('the socket of a dead holder is replaced; one that answers, and what is no socket, is left alone', async () => {
  mkdirSync(join(folder, 'run'), { mode: 0o700 });
  // A file with no listener behind it: bound, then its listener killed without unlinking.
  const { spawnSync } = await import('node:child_process');
  const script = `require('net').createServer().listen(${JSON.stringify(socketPath)}, () => process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', script]);
  expect(lstatSync(socketPath).isSocket()).toBe(true);
  await expect(client()).rejects.toBeInstanceOf(ControlAbsent);
  await serve();
  expect((await client()).roll.version).toBe(1);
  await expect(serveControl({ core, socketPath, onShow: () => undefined, ...VERSION })).rejects.toBeInstanceOf(
    ControlUnavailable,
  );
  expect((await client()).roll.version).toBe(1);
  await server?.close();
  writeFileSync(socketPath, 'notes');
  await expect(serve()).rejects.toThrow('it is no socket');
  expect(statSync(socketPath).size).toBe(5);
});

test('a runtime folder that cannot be made is told as such, by the one error that its users expect', async () => {
  writeFileSync(join(folder, 'run'), 'in the way');
  socketPath = join(folder, 'run', 'rollcall', 'control.sock');
  await expect(serve()).rejects.toThrow(ControlUnavailable);
  await expect(serve()).rejects.toThrow(/cannot be used: .*(?:ENOTDIR|EEXIST)/u);
});

test('a folder that others may enter, or that is a link, is used by neither end', async () => {
  mkdirSync(join(folder, 'run'));
  // Whatever the umask is.
  chmodSync(join(folder, 'run'), 0o755);
  await expect(serve()).rejects.toThrow('others may enter it (mode 755)');
  await expect(client()).rejects.toBeInstanceOf(ControlUnavailable);
  symlinkSync(join(folder, 'run'), join(folder, 'link'));
  socketPath = join(folder, 'link', 'control.sock');
  await expect(serve()).rejects.toThrow('it is not a folder');
  socketPath = join(folder, 'x'.repeat(120), 'control.sock');
  await expect(client()).rejects.toThrow('too long for a socket');
});

test('malformed, oversize and early input closes that connection with a reason, and no other', async () => {
  await serve();
  const good = await client();
  const bad: [string, Buffer, RegExp][] = [
    ['no JSON', Buffer.from('GET / HTTP/1.1\n'), /not one line of JSON/],
    ['no hello', frame({ type: 'request', id: 1, operation: 'roll', payload: null }), /the hello is not of protocol/],
    ['bad UTF-8', Buffer.from([0xff, 0xfe, 0x0a]), /not one line of JSON/],
    ['other protocol', frame({ type: 'hello', protocol: 99, version: '9', pid: 4000 }), /do not understand each other/],
    ['too long', Buffer.alloc(REQUEST_LIMIT + 1, 0x20), /longer than 1000000 bytes/],
    [
      'unknown operation',
      Buffer.concat([HELLO, frame({ type: 'request', id: 1, operation: 'kill', payload: 4711 })]),
      /a request/,
    ],
    [
      'unknown command',
      Buffer.concat([
        HELLO,
        frame({ type: 'request', id: 1, operation: 'run', payload: { command: 'kill', pid: 4711 } }),
      ]),
      /a request/,
    ],
    [
      'deeply nested',
      Buffer.concat([HELLO, Buffer.from(`${'['.repeat(400_000)}\n`)]),
      /not one line of JSON|a request/,
    ],
  ];
  for (const [name, bytes, reason] of bad) {
    const socket = await raw();
    const said = untilClosed(socket);
    socket.write(bytes);
    const text = await said;
    expect(text, name).toMatch(reason);
    expect(text, name).toContain('"type":"refusal"');
  }
  expect(core.ran).toEqual([]);
  expect((await good.explain('7')).text).toContain('PID 7');
});

test('no input, whatever its bytes, reaches the core, ends the server or disturbs another client', async () => {
  await serve();
  const good = await client();
  const json = fc.json().map((text) => Buffer.from(`${text}\n`));
  const nearly = fc
    .record({
      type: fc.constantFrom('request', 'hello', 'answer'),
      id: fc.jsonValue(),
      operation: fc.constantFrom('run', 'plan', 'show', 'explain'),
      payload: fc.jsonValue(),
    })
    .map((value) => frame(value));
  const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
  await fc.assert(
    fc.asyncProperty(
      fc.boolean(),
      fc.array(fc.oneof(json, nearly, bytes), { minLength: 1, maxLength: 8 }),
      async (greet, chunks) => {
        const socket = await raw();
        socket.resume();
        if (greet) socket.write(HELLO);
        for (const chunk of chunks) socket.write(chunk);
        await new Promise<void>((done) => socket.end(done));
        socket.destroy();
      },
    ),
    { numRuns: 150 },
  );
  expect(core.ran).toEqual([]);
  expect((await good.explain('7')).text).toContain('PID 7');
});

test('a frame reader gives the same values however the bytes are cut', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { maxLength: 6 }), fc.array(fc.nat(40), { maxLength: 60 }), (values, cuts) => {
      const bytes = Buffer.concat(values.map((value) => frame(value)));
      const reader = new FrameReader(1_000_000);
      const out: unknown[] = [];
      let at = 0;
      for (const cut of [...cuts, bytes.length]) {
        out.push(...reader.push(bytes.subarray(at, at + cut)));
        at += cut;
      }
      expect(out).toEqual(values.map((value) => JSON.parse(JSON.stringify(value)) as unknown));
    }),
  );
});

test('a client that stops reading costs no memory, blocks nobody, and gets the latest roll when it reads again', async () => {
  // 2 MB a roll: what is not dropped would add up to 400 MB here.
  const big = (version: number) =>
    fakeRoll(version, { servers: [fakeServer(4711, 'leaked', { healthDetail: 'x'.repeat(2_000_000) })] });
  core.roll = big(1);
  await serve();
  const stuck = await raw();
  stuck.pause();
  stuck.write(HELLO);
  stuck.write(frame({ type: 'request', id: 1, operation: 'subscribe', payload: null }));
  const good = await client();
  const before = process.memoryUsage().external + process.memoryUsage().arrayBuffers;
  for (let version = 2; version <= 200; version += 1) {
    core.push(big(version));
    if (version % 20 === 0) await expect.poll(() => good.roll.version, { timeout: 60_000 }).toBe(version);
  }
  const grown = process.memoryUsage().external + process.memoryUsage().arrayBuffers - before;
  expect(grown).toBeLessThan(150_000_000);
  const reader = new FrameReader(16_000_000);
  const versions: number[] = [];
  stuck.on('data', (chunk: Buffer) => {
    for (const value of reader.push(chunk)) {
      const message = value as { roll?: Roll; result?: Roll };
      const roll = message.roll ?? message.result;
      if (roll?.version !== undefined) versions.push(roll.version);
    }
  });
  stuck.resume();
  await expect.poll(() => versions.at(-1), { timeout: 60_000 }).toBe(200);
  expect(versions.length).toBeLessThan(5);
}, 300_000);

test('a client that floods requests without reading is not read any further', async () => {
  core.roll = fakeRoll(1, { servers: [fakeServer(4711, 'leaked', { healthDetail: 'x'.repeat(1_000_000) })] });
  await serve();
  const flood = await raw();
  flood.pause();
  flood.write(HELLO);
  const request = frame({ type: 'request', id: 1, operation: 'roll', payload: null });
  const block = Buffer.concat(Array.from({ length: 1000 }, () => request));
  let accepted = 0;
  for (let n = 0; n < 200 && flood.writableLength < 2_000_000; n += 1) {
    if (flood.write(block)) accepted += 1;
    await new Promise((done) => setImmediate(done));
  }
  // The kernel's socket buffer fills up, since nobody takes the requests out of it, whatever else the server reads.
  const other = await client();
  for (let n = 0; n < 100; n += 1) await other.explain('7');
  expect(flood.writableLength).toBeGreaterThan(1_000_000);
  expect(accepted).toBeLessThan(20);
  expect(other.roll.version).toBe(1);
});

test('a long act has no deadline, as long as the app gives signs of life', async () => {
  await serve();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  try {
    const one = await client({ pingEveryMs: 20, silentMs: 150 });
    let finish: (result: CommandResult) => void = () => undefined;
    core.onRun = () => new Promise((done) => (finish = done));
    const act = one.run({ command: 'look' }, 'cli');
    // Four times as long as the app may say nothing, each sign of life with its answer.
    for (let n = 0; n < 30; n += 1) {
      vi.advanceTimersByTime(20);
      // What comes later over the same connection was answered later.
      await one.explain('7');
    }
    finish({ ok: true, message: 'Started.', server: null, results: [] });
    expect(await act).toMatchObject({ message: 'Started.' });
  } finally {
    vi.useRealTimers();
  }
});

test('an app that closes or hangs in the middle of an act is noticed', async () => {
  await serve();
  const one = await client();
  core.onRun = () => new Promise(() => undefined);
  const act = one.run({ command: 'look' }, 'cli');
  await expect.poll(() => core.ran.length).toBe(1);
  await server?.close();
  await expect(act).rejects.toBeInstanceOf(ControlLost);
  expect(await one.lost).toBeInstanceOf(ControlLost);
  await expect(one.plan('leaked')).rejects.toBeInstanceOf(ControlLost);
  server = null;

  const hung = await fakeApp((socket, line) => {
    const said = JSON.parse(line) as { type: string; id: number; operation?: string };
    if (said.type === 'hello') socket.write(frame({ type: 'hello', protocol: 1, version: '0.1.0', pid: 4000 }));
    if (said.operation === 'subscribe')
      socket.write(frame({ type: 'answer', id: said.id, ok: true, result: fakeRoll(1) }));
  });
  const two = await client({ pingEveryMs: 20, silentMs: 100 });
  await expect(two.plan('leaked')).rejects.toThrow('it said nothing for');
  hung.close();
});

test('an app that accepts and says nothing does not hold the command beyond its deadline', async () => {
  const silent = await fakeApp(() => undefined);
  const connecting = connectControl(socketPath, 200, VERSION);
  await expect(connecting).rejects.toThrow(ControlFailed);
  await expect(connecting).rejects.toThrow('did not answer within 0.2 s');
  silent.close();
});

test('an answer of another form is an error that says what to do, not a wrong roll', async () => {
  const other = await fakeApp((socket, line) => {
    const said = JSON.parse(line) as { type: string; id: number };
    if (said.type === 'hello') socket.write(frame({ type: 'hello', protocol: 1, version: '7.0.0', pid: 4000 }));
    else socket.write(frame({ type: 'answer', id: said.id, ok: true, result: { ...fakeRoll(1), version: 'seven' } }));
  });
  await expect(client()).rejects.toThrow('The running app (7.0.0) answered in another form');
  other.close();
});

/** A listener that answers each line as told. */
async function fakeApp(onLine: (socket: Socket, line: string) => void): Promise<Server> {
  mkdirSync(join(folder, 'run'), { recursive: true, mode: 0o700 });
  const listener = createServer((socket) => {
    closers.push(() => socket.destroy());
    let text = '';
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      text += chunk.toString('utf8');
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) onLine(socket, line);
    });
  });
  await new Promise<void>((done) => listener.listen(socketPath, done));
  return listener;
}
