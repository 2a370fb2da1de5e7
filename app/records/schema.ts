/**
 * The record of a server that Rollcall started: one JSON file each, `records/<nonce>.json`, written before the
 * process exists and rewritten as more becomes known. `docs/architecture.md` describes the format for readers.
 */
import { z } from 'zod';
import { identitySchema } from '../roll/schema.ts';

/** Records larger than this are not ours. */
export const RECORD_LIMIT_BYTES = 64 * 1024;

const evidenceSchema = z.strictObject({
  executable: z.strictObject({ path: z.string(), device: z.string(), inode: z.string() }).nullable(),
  argvHash: z.string().nullable(),
});

export const processRefSchema = z.strictObject({ identity: identitySchema, evidence: evidenceSchema });

export const recordSchema = z.looseObject({
  version: z.literal(1),
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
});
export type ServerRecord = z.infer<typeof recordSchema>;
