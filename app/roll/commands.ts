/** The acts a person can give, from tray, window or CLI alike, and their answers. */
import { z } from 'zod';
import { idSchema, reapResultSchema, standingSchema } from './schema.ts';

const pid = z.int().positive();
const hostName = z.string().min(1).max(256);

export const commandSchema = z.discriminatedUnion('command', [
  /** Look at every host now, or at one. */
  z.strictObject({ command: z.literal('look'), host: hostName.exactOptional() }),
  z.strictObject({
    command: z.literal('start'),
    /** Where; this machine when left out. */
    host: hostName.exactOptional(),
    kind: z.string().min(1).max(64),
    /** Absolute path the server works in. */
    directory: z.string().min(1).max(4096),
    port: z.int().min(1).max(65_535).nullable(),
    /** Stop it when this process goes away. */
    forPid: pid.nullable(),
    /** Leave it running when Rollcall quits. */
    keepRunning: z.boolean(),
  }),
  z.strictObject({ command: z.literal('stop'), server: idSchema, force: z.boolean() }),
  z.strictObject({ command: z.literal('restart'), server: idSchema, force: z.boolean() }),
  z.strictObject({
    command: z.literal('reap'),
    /** Rows by id, servers and leftovers; or everything that is leaked now. */
    targets: z.union([z.literal('leaked'), z.array(idSchema).min(1).max(1000)]),
    /** The person has seen the plan of these rows and agreed. */
    confirmed: z.boolean(),
    /** The person named these rows knowing they are owned, a service, supervised or busy. */
    force: z.boolean(),
  }),
  /** Move a stale record aside, only if it still has these bytes. */
  z.strictObject({
    command: z.literal('clear'),
    path: z.string().min(1).max(4096),
    sha256: z.string(),
    host: hostName.exactOptional(),
  }),
  z.strictObject({ command: z.literal('keep-running'), server: idSchema, keepRunning: z.boolean() }),
  /** Stop it after this many minutes without a busy session or client; null: never. */
  z.strictObject({
    command: z.literal('set-idle'),
    server: idSchema,
    minutes: z.number().min(1).max(10_080).nullable(),
  }),
  /** It was announced to be stopped for being idle: its idle time begins anew. */
  z.strictObject({ command: z.literal('keep-awake'), server: idSchema }),
  /** Interrupt what a session does; it stays. */
  z.strictObject({ command: z.literal('abort-session'), session: idSchema }),
  /** Interrupt a session and take it as ended: its session-end hooks run. Its history is kept. */
  z.strictObject({ command: z.literal('end-session'), session: idSchema, force: z.boolean() }),
  /** Run the session-end hooks that have failed too often once more, or give them up. */
  z.strictObject({ command: z.literal('retry-hooks') }),
  z.strictObject({ command: z.literal('forget-hooks') }),
  /** Start a server that exited unexpectedly again, now. */
  z.strictObject({ command: z.literal('start-again'), nonce: z.uuid() }),
  /** Take a server that exited unexpectedly off the list: it is not started again, and its record goes. */
  z.strictObject({ command: z.literal('forget'), nonce: z.uuid() }),
  /** Start the guard now, where it does not run. */
  z.strictObject({ command: z.literal('start-guard') }),
  /** Connect to a host, saved or not; a pending retry is not waited for. Settles when it is connected or has failed. */
  z.strictObject({ command: z.literal('connect'), host: hostName }),
  /** Its servers go on, unless they are to be stopped first. It is not reconnected until a person asks. */
  z.strictObject({ command: z.literal('disconnect'), host: hostName, stopServers: z.boolean() }),
  /** Save a host under a name, or change a saved one; `was` is the name it had. */
  z.strictObject({
    command: z.literal('save-host'),
    name: hostName,
    alias: hostName,
    connect: z.enum(['at-start', 'when-asked']),
    was: hostName.nullable(),
  }),
  /** Disconnect a host and take it out of the configuration file. Its servers and their records stay where they are. */
  z.strictObject({ command: z.literal('remove-host'), name: hostName }),
  /** Forget a finished task's progress. */
  z.strictObject({ command: z.literal('dismiss'), task: z.string() }),
]);
export type Command = z.infer<typeof commandSchema>;

/** What was not done, whom that protects, what to do: one sentence each. */
export const failureSchema = z.strictObject({
  /** Stable and greppable: "port-taken", "refused-owned", "not-found". */
  code: z.string(),
  message: z.string(),
  remedy: z.string(),
  /** Raw text of a log or tool, never the message itself. */
  detail: z.string().nullable(),
});
export type Failure = z.infer<typeof failureSchema>;

export const commandResultSchema = z.discriminatedUnion('ok', [
  z.strictObject({
    ok: z.literal(true),
    message: z.string(),
    /** The server started or found running, for `start` and `restart`. */
    server: z.strictObject({ id: idSchema, pid, url: z.string().nullable() }).nullable(),
    results: z.array(reapResultSchema),
  }),
  z.strictObject({ ok: z.literal(false), failure: failureSchema, results: z.array(reapResultSchema) }),
]);
export type CommandResult = z.infer<typeof commandResultSchema>;

/** Every process a reap would signal, in order, before anything is signalled. */
export const planRequestSchema = z.strictObject({
  targets: z.union([z.literal('leaked'), z.array(idSchema).min(1).max(1000)]),
});
export const planSchema = z.strictObject({
  rows: z.array(
    z.strictObject({
      id: idSchema,
      label: z.string(),
      host: z.string(),
      standing: standingSchema.or(z.literal('leftover')),
      ownerLabel: z.string().nullable(),
      memoryBytes: z.number(),
      /** Null when it may be reaped with a confirmation; else why it may not, or only by force. */
      refusal: z.string().nullable(),
      needsForce: z.boolean(),
      /** What ends with it: "node, PID 50112, loses its 2 connections". */
      consequences: z.array(z.string()),
      steps: z.array(
        z.strictObject({
          pid,
          name: z.string(),
          command: z.string(),
          memoryBytes: z.number(),
          /** "dispose, then TERM", "TERM", "with its parent". */
          how: z.string(),
        }),
      ),
    }),
  ),
  freesBytes: z.number(),
  processes: z.int(),
  busy: z.int(),
});
export type Plan = z.infer<typeof planSchema>;
