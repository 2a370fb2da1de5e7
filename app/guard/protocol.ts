/**
 * What crosses the pipe between the app and its guard: one JSON object per line, UTF-8, checked on both sides.
 *
 * The app says hello, then hands over the full state of its local servers whenever it changes, never a difference, so
 * a guard that was started anew knows as much as the one before. Every message but the hello has a number and is
 * acknowledged once it is kept. When the pipe ends without a farewell, the app has crashed.
 */
import { z } from 'zod';
import type { Paths } from '../config/paths.ts';
import { processRefSchema, recordSchema } from '../records/schema.ts';
import type { Afterwards } from '../supervisor/guard-port.ts';

/** Raised when a message changes so that an older other side would misread it. */
export const GUARD_PROTOCOL = 3;
/** Longest message to the guard, in bytes: the state of more than a thousand servers. */
export const MESSAGE_LIMIT = 4_000_000;
/** Longest message to the app, in bytes. */
export const REPLY_LIMIT = 4096;

const text = z.string().max(4096);
const seq = z.int().positive();

/** A server as it is handed over: what its record says, and what only looking tells. */
export const handedSchema = z.strictObject({
  record: recordSchema,
  path: text,
  busy: z.enum(['busy', 'idle', 'unknown']),
  /** As rows name it: `opencode :4096 on local`. */
  label: text,
});
export type Handed = z.infer<typeof handedSchema>;

const pathsSchema = z.strictObject({
  configDir: text,
  configFile: text,
  stateDir: text,
  recordsDir: text,
  auditFile: text,
  logsDir: text,
  guardLog: text,
  onceDir: text,
  setAsideDir: text,
  seenFile: text,
  sessionsFile: text,
  hooksDir: text,
  writerLock: text,
  runtimeDir: text,
  controlSocket: text,
  userData: text,
}) satisfies z.ZodType<Paths>;

const afterwardsSchema = z.enum(['nothing', 'watch-owners', 'end-servers']) satisfies z.ZodType<Afterwards>;

export const toGuardSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('hello'),
    protocol: z.int(),
    version: z.string().max(100),
    /** One life of the app; what the guard does for it is done once. */
    runId: z.uuid(),
    /** PID of the app, which holds the writer's lock while it lives. */
    pid: z.int().positive(),
    paths: pathsSchema,
  }),
  z.strictObject({ type: z.literal('state'), seq, servers: z.array(handedSchema).max(10_000) }),
  /** The ssh processes that run for the app now; they are of no use without it. */
  z.strictObject({ type: z.literal('ssh'), seq, processes: z.array(processRefSchema).max(1000) }),
  /** Asks for a sign of life. */
  z.strictObject({ type: z.literal('ping'), seq }),
  z.strictObject({ type: z.literal('farewell'), seq, afterwards: afterwardsSchema }),
]);
export type ToGuard = z.infer<typeof toGuardSchema>;
export type GuardHello = Extract<ToGuard, { type: 'hello' }>;

export const fromGuardSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('hello'), protocol: z.int(), pid: z.int().positive() }),
  /** Everything up to this number is kept. */
  z.strictObject({ type: z.literal('ack'), seq }),
  /** A message was not taken; what was kept before stays. */
  z.strictObject({ type: z.literal('refused'), why: z.string().max(1000) }),
]);
export type FromGuard = z.infer<typeof fromGuardSchema>;

/** One message as the line that goes over the pipe. */
export function line(message: ToGuard | FromGuard): Buffer {
  return Buffer.from(`${JSON.stringify(message)}\n`, 'utf8');
}
