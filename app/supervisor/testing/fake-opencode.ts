/**
 * A stand-in with the real one's face: a program called `opencode` that serves, answers its health and event
 * endpoints, and can be told to misbehave. It is node under another name, given a script called `serve`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the fake does, given to it as JSON in `FAKE`. */
export interface Fake {
  /** Never opens a port. */
  readonly silent?: boolean;
  /** Exits at once with this code. */
  readonly exit?: number;
  /** Ignores this many SIGTERMs; -1 for all of them. */
  readonly swallow?: number;
  /** Starts a tool: a shell of its own session with a sleeping child, marked like a real one. */
  readonly tool?: boolean;
  /** Starts a helper in its own session and group, marked, which ignores SIGTERM. */
  readonly helper?: boolean;
  /** Exits with code 1 this many milliseconds after it has opened its port. */
  readonly crashAfter?: number;
  /** Exits with code 0 this many milliseconds after it has opened its port. */
  readonly leaveAfter?: number;
  /** Says over the event stream that a session is busy. */
  readonly busy?: boolean;
  /** Says so while this file exists, and that the session is idle after that. */
  readonly busyWhile?: string;
  /** Sessions in its folder, listed and told of as the real one does; one of them can be deleted and interrupted. */
  readonly sessions?: readonly { readonly id: string; readonly title: string; readonly busy?: boolean }[];
  /** It answers nobody without this password. */
  readonly password?: boolean;
  /** Burns a whole core for ever once it serves, with a child that has ended and is never collected. */
  readonly spin?: boolean;
  /** Reads this file once it serves, and waits for it with its only thread. */
  readonly reads?: string;
  /** Starts these through a shell that exits at once, so that only the mark ties them to the server. */
  readonly cutOff?: readonly string[];
}

const SCRIPT = `
const http = require('node:http');
const { existsSync } = require('node:fs');
const { spawn } = require('node:child_process');
const fake = JSON.parse(process.env.FAKE ?? '{}');
if (fake.exit !== undefined) process.exit(fake.exit);
let swallow = fake.swallow ?? 0;
if (swallow !== 0) process.on('SIGTERM', () => { if (swallow === 0) process.exit(0); if (swallow > 0) swallow -= 1; });
const marked = { ...process.env, OPENCODE_PID: String(process.pid) };
delete marked.ROLLCALL_NONCE;
if (fake.tool) spawn('/bin/bash', ['-c', 'sleep 321 & sleep 322'], { detached: true, stdio: 'ignore', env: marked });
if (fake.helper) spawn('/bin/bash', ['-c', 'trap "" TERM; while :; do sleep 0.2; done'], { stdio: 'ignore', env: marked });
for (const command of fake.cutOff ?? []) spawn('/bin/bash', ['-c', 'setsid ' + command + ' >/dev/null 2>&1 &'], { stdio: 'ignore', env: marked });
const port = Number(process.argv[process.argv.indexOf('--port') + 1] ?? 0) || 0;
if (fake.silent) { setInterval(() => {}, 1000); } else {
  const json = (res, value) => { res.setHeader('content-type', 'application/json'); res.end(JSON.stringify(value)); };
  const time = { created: Date.now(), updated: Date.now() };
  const sessions = new Map((fake.sessions ?? []).map((each) => [each.id, each]));
  const streams = new Set();
  const tell = (res, type, properties) => res.write('data: ' + JSON.stringify({ directory: process.cwd(), payload: { id: '1', type, properties } }) + '\\n\\n');
  const server = http.createServer((req, res) => {
    const key = 'Basic ' + Buffer.from('opencode:' + process.env.OPENCODE_SERVER_PASSWORD).toString('base64');
    if (fake.password && req.headers.authorization !== key) { res.writeHead(401, { 'www-authenticate': 'Basic realm="Secure Area"' }); res.end(); return; }
    if (req.url === '/global/health') { json(res, { healthy: true, version: fake.sessions === undefined ? '0.0.0-fake' : '1.18.33' }); return; }
    if (req.url.startsWith('/api/session')) {
      json(res, { data: [...sessions.values()].map(({ id, title }) => ({ id, title, location: { directory: process.cwd() }, time })), cursor: {} });
      return;
    }
    if (req.url.startsWith('/session/status')) {
      json(res, Object.fromEntries([...sessions.values()].filter(({ busy }) => busy).map(({ id }) => [id, { type: 'busy' }])));
      return;
    }
    const [, id, act] = /^\\/session\\/([^/?]+)(\\/abort)?/.exec(req.url) ?? [];
    if (sessions.has(id)) {
      if (act === undefined) sessions.delete(id);
      else sessions.get(id).busy = false;
      for (const stream of streams) {
        if (act === undefined) tell(stream, 'session.deleted', { sessionID: id, info: { id } });
        else tell(stream, 'session.status', { sessionID: id, status: { type: 'idle' } });
      }
      json(res, true);
      return;
    }
    if (req.url === '/global/event') {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      const send = (type, properties) => tell(res, type, properties);
      streams.add(res);
      res.on('close', () => streams.delete(res));
      send('server.connected', {});
      for (const { id, busy } of sessions.values()) if (busy) send('session.status', { sessionID: id, status: { type: 'busy' } });
      if (fake.busy) send('session.status', { sessionID: 'ses_fake', status: { type: 'busy' } });
      if (fake.busyWhile !== undefined && existsSync(fake.busyWhile)) {
        send('session.status', { sessionID: 'ses_fake', status: { type: 'busy' } });
        const timer = setInterval(() => {
          if (existsSync(fake.busyWhile)) return;
          clearInterval(timer);
          send('session.status', { sessionID: 'ses_fake', status: { type: 'idle' } });
        }, 50);
      }
      return;
    }
    if (req.url === '/global/dispose') { res.end('true'); return; }
    res.statusCode = 404; res.end();
  });
  server.on('error', () => process.exit(0));
  server.listen(port, '127.0.0.1', () => console.log('opencode server listening on http://127.0.0.1:' + server.address().port));
  if (fake.crashAfter !== undefined) server.on('listening', () => setTimeout(() => { console.log('out of luck'); process.exit(1); }, fake.crashAfter));
  if (fake.leaveAfter !== undefined) server.on('listening', () => setTimeout(() => process.exit(0), fake.leaveAfter));
  if (fake.reads) setTimeout(() => require('node:fs').readFileSync(fake.reads), 500);
  if (fake.spin) setTimeout(() => { spawn('sleep', ['0.1'], { stdio: 'ignore' }); for (;;); }, 500);
}
`;

/** Puts node under another name into a folder, with a script that its first argument names. @returns the program */
export function installProgram(folder: string, name: string, subcommand: string, script: string): string {
  mkdirSync(folder, { recursive: true });
  const program = join(folder, name);
  if (!existsSync(program)) {
    try {
      linkSync(process.execPath, program);
    } catch {
      // Another file system: a copy is as good, only slower.
      copyFileSync(process.execPath, program);
    }
  }
  writeFileSync(join(folder, subcommand), script);
  // Another user may have to read it, whatever the umask is.
  chmodSync(join(folder, subcommand), 0o644);
  return program;
}

/** Puts the fake into a folder of its own; servers run there. @returns path of the program */
export function installFake(folder: string): string {
  return installProgram(folder, 'opencode', 'serve', SCRIPT);
}

/** Starts the fake as a child of a launcher that can be killed, so that the server is orphaned as in the field. */
export function launchUnder(
  program: string,
  folder: string,
  fake: Fake,
  args: readonly string[] = ['serve', '--port', '0'],
): ChildProcess {
  const code = `
    const { spawn } = require('node:child_process');
    const child = spawn(${JSON.stringify(program)}, ${JSON.stringify(args)}, { cwd: ${JSON.stringify(folder)}, stdio: 'ignore', detached: true });
    console.log(child.pid);
    setInterval(() => {}, 1000);
  `;
  return spawn(process.execPath, ['-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, FAKE: JSON.stringify(fake) },
  });
}
