/**
 * The record of a server that Rollcall started: one JSON file each, `records/<nonce>.json`, written before the
 * process exists and rewritten as more becomes known. `docs/internals.md` describes the format for readers.
 */
import { z } from 'zod';
import { identitySchema } from '../roll/schema.ts';

/** What this Rollcall writes. Version 1 had neither `program` nor `planHash`, `attempt`, `readyAt`. */
export const RECORD_VERSION = 2;

/** Records larger than this are not ours. */
export const RECORD_LIMIT_BYTES = 64 * 1024;

const evidenceSchema = z.strictObject({
  executable: z.strictObject({ path: z.string(), device: z.string(), inode: z.string() }).nullable(),
  argvHash: z.string().nullable(),
});

export const processRefSchema = z.strictObject({ identity: identitySchema, evidence: evidenceSchema });

export const recordSchema = z.looseObject({
  version: z.literal(RECORD_VERSION),
  nonce: z.uuid(),
  kind: z.string().min(1),
  /** `planned` before the spawn, `spawned` once the direct child is known, `bound` once the listener is. */
  state: z.enum(['planned', 'spawned', 'bound']),
  directory: z.string(),
  writtenAt: z.iso.datetime(),
  /** Who wrote it, so that a planned record whose writer lives is left alone. */
  writer: processRefSchema,
  /** Port asked for; null when the server chose. */
  port: z.int().nullable(),
  keepRunning: z.boolean(),
  /** It is stopped after this many minutes without a busy session or client; null: never; absent: as the settings say. */
  idleMinutes: z.number().positive().nullable().exactOptional(),
  /** It is stopped when this process goes away. */
  owner: z.strictObject({ label: z.string(), ref: processRefSchema }).nullable(),
  /** The direct child: the server or its outermost wrapper. */
  spawned: processRefSchema.nullable(),
  /** The process that listens. */
  server: processRefSchema.nullable(),
  listening: z.strictObject({ address: z.string(), port: z.int() }).nullable(),
  /** Redacted; the secrets of a command line are never written. */
  command: z.array(z.string()),
  logPath: z.string().nullable(),
  /** The program file that the start resolved to, so that a newer one in its place is noticed. */
  program: z.strictObject({ path: z.string(), device: z.string(), inode: z.string(), mtimeMs: z.number() }).nullable(),
  /** sha256, in hex, of the start plan's arguments and environment as the configuration made them. */
  planHash: z
    .string()
    .regex(/^[0-9a-f]{64}$/u)
    .nullable(),
  /** Name of the machine it is of, where machines may share the folder and even their id. */
  hostname: z.string().exactOptional(),
  /** Automatic restarts in a row that led to this start; 0 for a start that a person asked for. */
  attempt: z.int().min(0),
  /** When its health endpoint first answered. */
  readyAt: z.iso.datetime().nullable(),
});
export type ServerRecord = z.infer<typeof recordSchema>;

/** What version 1 did not know. A reader fills it in and leaves the file as it is; the next write is of this version. */
const UNKNOWN_TO_VERSION_1 = { program: null, planHash: null, attempt: 0, readyAt: null } as const;

/** A record of an earlier version as one of this version would have said it; anything else unchanged. Pure. */
export function upgraded(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('version' in value) || value.version !== 1) return value;
  return { ...value, version: RECORD_VERSION, ...UNKNOWN_TO_VERSION_1 };
}
