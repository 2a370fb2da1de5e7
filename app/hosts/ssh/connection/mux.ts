/**
 * The requests that ssh's own `-O` sends to a master, spoken directly: no process for each, no configuration that could
 * add a forward of the person's, and an end to every wait. OpenSSH describes the protocol in PROTOCOL.mux; version 4
 * has been the only one since 2010.
 */
import { connect } from 'node:net';
import { stallTolerantTimer } from '../../../util/stall-tolerant-timer.ts';

/** A master did not do what it was asked. */
export class MuxFailed extends Error {
  override readonly name = 'MuxFailed';
  /** Nobody listens; no answer in time; the master said no; what listens is no master. */
  readonly reason: 'unreachable' | 'deadline' | 'refused' | 'malformed';
  constructor(reason: MuxFailed['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

export type ForwardEnd = { readonly path: string } | { readonly address: string; readonly port: number };

const VERSION = 4;
const MESSAGE = {
  hello: 0x0000_0001,
  check: 0x1000_0004,
  terminate: 0x1000_0005,
  openForward: 0x1000_0006,
  closeForward: 0x1000_0007,
  ok: 0x8000_0001,
  denied: 0x8000_0002,
  failure: 0x8000_0003,
  alive: 0x8000_0005,
} as const;
const LOCAL_FORWARD = 1;
/** Stands for the port of a Unix socket: -2. */
const NO_PORT = 0xffff_fffe;
const REQUEST_ID = 1;
/** Answers are a few words; anything longer is no answer. */
const MAX_ANSWER = 65_536;

function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => {
    bytes.writeUInt32BE(value, index * 4);
  });
  return bytes;
}

function counted(bytes: Buffer): Buffer {
  return Buffer.concat([numbers(bytes.length), bytes]);
}

function end(at: ForwardEnd): Buffer {
  return 'path' in at
    ? Buffer.concat([counted(Buffer.from(at.path)), numbers(NO_PORT)])
    : Buffer.concat([counted(Buffer.from(at.address)), numbers(at.port)]);
}

/** PID of the master that listens on a control socket. @throws MuxFailed */
export async function muxCheck(socketPath: string, deadlineMs: number): Promise<number> {
  const { type, rest } = await request(socketPath, MESSAGE.check, Buffer.alloc(0), deadlineMs);
  if (type !== MESSAGE.alive || rest.length < 4) throw new MuxFailed('malformed', 'the master did not tell its PID');
  return rest.readUInt32BE(0);
}

/** Lets the master listen at `listen` and lead connections to `to` on the remote. @throws MuxFailed */
export async function muxOpenForward(
  socketPath: string,
  listen: ForwardEnd,
  to: ForwardEnd,
  deadlineMs: number,
): Promise<void> {
  const body = Buffer.concat([numbers(LOCAL_FORWARD), end(listen), end(to)]);
  await request(socketPath, MESSAGE.openForward, body, deadlineMs);
}

/** Takes a forward away again; it must be named as it was opened. @throws MuxFailed */
export async function muxCloseForward(
  socketPath: string,
  listen: ForwardEnd,
  to: ForwardEnd,
  deadlineMs: number,
): Promise<void> {
  const body = Buffer.concat([numbers(LOCAL_FORWARD), end(listen), end(to)]);
  await request(socketPath, MESSAGE.closeForward, body, deadlineMs);
}

/** Asks the master to end, with everything that goes through it. @throws MuxFailed */
export async function muxTerminate(socketPath: string, deadlineMs: number): Promise<void> {
  try {
    await request(socketPath, MESSAGE.terminate, Buffer.alloc(0), deadlineMs);
  } catch (error) {
    // It may be gone before its answer is out.
    if (!(error instanceof MuxFailed && error.reason === 'malformed')) throw error;
  }
}

interface Answer {
  readonly type: number;
  /** What follows the request's number. */
  readonly rest: Buffer;
}

function request(socketPath: string, type: number, body: Buffer, deadlineMs: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    let kept = Buffer.alloc(0);
    let greeted = false;
    let settled = false;
    const settle = (act: () => void): void => {
      if (settled) return;
      settled = true;
      stopWaiting();
      socket.destroy();
      act();
    };
    const fail = (reason: MuxFailed['reason'], message: string): void =>
      settle(() => reject(new MuxFailed(reason, message)));
    const stopWaiting = stallTolerantTimer(deadlineMs, () =>
      fail('deadline', `the master did not answer within ${deadlineMs} ms`),
    );
    socket.once('error', (error) => fail('unreachable', `the control socket cannot be reached: ${error.message}`));
    socket.once('close', () => fail('malformed', 'the master closed the connection without an answer'));
    socket.once('connect', () => {
      socket.write(counted(numbers(MESSAGE.hello, VERSION)));
      socket.write(counted(Buffer.concat([numbers(type, REQUEST_ID), body])));
    });
    socket.on('data', (chunk: Buffer) => {
      kept = Buffer.concat([kept, chunk]);
      while (!settled && kept.length >= 4) {
        const length = kept.readUInt32BE(0);
        if (length < 8 || length > MAX_ANSWER) return fail('malformed', 'the control socket is no ssh master’s');
        if (kept.length < 4 + length) return;
        const packet = kept.subarray(4, 4 + length);
        kept = kept.subarray(4 + length);
        if (!greeted) {
          greeted = packet.readUInt32BE(0) === MESSAGE.hello && packet.readUInt32BE(4) === VERSION;
          if (!greeted) return fail('malformed', 'the master speaks another version of the protocol');
          continue;
        }
        const answered = packet.readUInt32BE(0);
        const rest = packet.subarray(8);
        if (answered === MESSAGE.denied || answered === MESSAGE.failure) {
          return fail('refused', rest.subarray(4).toString('utf8').slice(0, 500));
        }
        if (answered === MESSAGE.ok || answered === MESSAGE.alive)
          return settle(() => resolve({ type: answered, rest }));
        return fail('malformed', 'the master gave an unknown answer');
      }
    });
  });
}
