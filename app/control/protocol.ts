/**
 * What crosses the control socket between the app and the `rollcall` command: one JSON object per line, UTF-8.
 *
 * The client speaks first with `hello`; the server answers with its own and then takes requests, each with an id
 * and exactly one answer. After `subscribe` it also pushes each new roll; a reader that cannot keep up gets the
 * latest one only. Both sides check every message and close on the first that is malformed or too long.
 */
import { z } from 'zod';
import { showSchema } from '../roll/channels.ts';
import { commandResultSchema, commandSchema, planRequestSchema, planSchema } from '../roll/commands.ts';
import { leftoverSchema, rollSchema, serverSchema } from '../roll/schema.ts';

/** Raised when a message changes so that an older other side would misread it. */
export const PROTOCOL_VERSION = 1;

/** Longest message to the server, in bytes: commands are small. */
export const REQUEST_LIMIT = 1_000_000;
/** Longest message to the client, in bytes: a roll of some thousand servers with their processes. */
export const ANSWER_LIMIT = 16_000_000;

export const helloSchema = z.strictObject({
  type: z.literal('hello'),
  protocol: z.int(),
  /** Program version, for messages. */
  version: z.string().max(100),
  pid: z.int().positive(),
});
export type Hello = z.infer<typeof helloSchema>;

export const explanationSchema = z.strictObject({
  server: serverSchema.nullable(),
  leftover: leftoverSchema.nullable(),
  text: z.string(),
});

export const logTextSchema = z.strictObject({
  path: z.string().nullable(),
  text: z.string(),
  truncated: z.boolean(),
});

/** Payload and result of each request. */
export const operations = {
  roll: { payload: z.null(), result: rollSchema },
  subscribe: { payload: z.null(), result: rollSchema },
  run: { payload: commandSchema, result: commandResultSchema },
  plan: { payload: planRequestSchema, result: planSchema },
  explain: {
    payload: z.strictObject({ target: z.string().min(1).max(100), host: z.string().max(256).nullable().default(null) }),
    result: explanationSchema,
  },
  readLog: { payload: z.strictObject({ server: z.string().min(1).max(100) }), result: logTextSchema },
  /** Brings the window up; null opens it where it was. */
  show: { payload: showSchema.nullable(), result: z.null() },
  /** An app wants to be in charge: the guard finishes what is under way, lets go of the lock, and answers then. */
  yield: { payload: z.null(), result: z.null() },
  /** Answered at once whatever else goes on: it tells a slow act from a hung peer. */
  ping: { payload: z.null(), result: z.null() },
} as const;

export type Operations = typeof operations;
export type Operation = keyof Operations;
export type Payload<N extends Operation> = z.infer<Operations[N]['payload']>;
export type OperationResult<N extends Operation> = z.infer<Operations[N]['result']>;

const id = z.int().nonnegative();

function requestOf<N extends Operation>(operation: N) {
  return z.strictObject({
    type: z.literal('request'),
    id,
    operation: z.literal(operation),
    payload: operations[operation].payload as Operations[N]['payload'],
  });
}

export const requestSchema = z.discriminatedUnion('operation', [
  requestOf('roll'),
  requestOf('subscribe'),
  requestOf('run'),
  requestOf('plan'),
  requestOf('explain'),
  requestOf('readLog'),
  requestOf('show'),
  requestOf('yield'),
  requestOf('ping'),
]);
export type Request = z.infer<typeof requestSchema>;

/** From server to client. `result` is checked against its operation by the client, which knows what it asked. */
export const serverMessageSchema = z.discriminatedUnion('type', [
  helloSchema,
  z.strictObject({ type: z.literal('answer'), id, ok: z.literal(true), result: z.unknown() }),
  z.strictObject({ type: z.literal('failure'), id, message: z.string() }),
  /** A new roll for a subscriber; checked by the client. */
  z.strictObject({ type: z.literal('roll'), roll: z.unknown() }),
  /** The server closes the connection after this. */
  z.strictObject({ type: z.literal('refusal'), message: z.string() }),
]);
export type ServerMessage = z.infer<typeof serverMessageSchema>;

/** One message as the line that goes over the wire. */
export function frame(message: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(message)}\n`, 'utf8');
}
