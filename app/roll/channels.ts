/**
 * The one map of everything that crosses between window and main process. Both sides check every message against
 * it: main on arrival of a request, preload on arrival of an answer or a push.
 */
import { z } from 'zod';
import { rollChangeSchema } from './change.ts';
import { commandResultSchema, commandSchema, planRequestSchema, planSchema } from './commands.ts';
import { idSchema, rollSchema } from './schema.ts';

/** Opens a place in the window, from the tray, a notification or a second launch. */
export const showSchema = z.strictObject({
  view: z.enum(['servers', 'sessions', 'records', 'timeline', 'settings']),
  /** Row to select. */
  server: idSchema.nullable(),
  dialog: z.enum([
    'none',
    'plan-leaked',
    'plan-server',
    'start',
    'stop-server',
    'restart-server',
    'stop-all',
    'log',
    'host-steps',
    'disconnect-host',
  ]),
  /** Kind chosen beforehand in the start dialog. */
  kind: z.string().nullable(),
  /** Nonce of the ended server whose alert, or whose log, is shown. */
  ended: z.uuid().exactOptional(),
  /** Name of the host that is chosen, or that the dialog is about. */
  host: z.string().exactOptional(),
});
export type NavigationTarget = z.infer<typeof showSchema>;

export const doneSchema = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(true) }),
  z.strictObject({ ok: z.literal(false), message: z.string() }),
]);

/** Whose log: a supervised server by id, or one that ended by its nonce. */
const logOwnerSchema = idSchema.or(z.uuid());

/** Requests from the window; each has an answer. */
export const requests = {
  'roll.get': { payload: z.null(), result: rollSchema },
  'command.run': { payload: commandSchema, result: commandResultSchema },
  'plan.get': { payload: planRequestSchema, result: planSchema },
  /** The last lines of the log of a server of ours; at most 64 KiB of text. */
  'log.read': {
    payload: z.strictObject({ server: logOwnerSchema }),
    result: z.strictObject({ path: z.string().nullable(), text: z.string(), truncated: z.boolean() }),
  },
  'log.open': { payload: z.strictObject({ server: logOwnerSchema }), result: doneSchema },
  'url.open': { payload: z.strictObject({ server: idSchema }), result: doneSchema },
  'url.copy': { payload: z.strictObject({ server: idSchema }), result: doneSchema },
  /** Text of a row for the clipboard (a path, a PID, a command). */
  'text.copy': { payload: z.strictObject({ text: z.string().max(10_000) }), result: doneSchema },
  /** The system's folder chooser; null when the person cancelled. */
  'folder.choose': {
    payload: z.strictObject({ start: z.string().nullable() }),
    result: z.strictObject({ path: z.string().nullable() }),
  },
  /**
   * Asks where to, then writes what the audit holds of that choice as JSON, secrets redacted. A null path: the person
   * cancelled.
   */
  'timeline.export': {
    payload: z.strictObject({
      host: z.string().max(256).nullable(),
      server: idSchema.nullable(),
      session: idSchema.nullable(),
      filter: z.string().max(1000),
    }),
    result: z.discriminatedUnion('ok', [
      z.strictObject({ ok: z.literal(true), path: z.string().nullable(), entries: z.int().nonnegative() }),
      z.strictObject({ ok: z.literal(false), message: z.string() }),
    ]),
  },
  'config.open': { payload: z.null(), result: doneSchema },
  /** What the window must know once: platform, home for "~", whether a tray host shows the icon. */
  'app.info': {
    payload: z.null(),
    result: z.strictObject({
      version: z.string(),
      platform: z.string(),
      home: z.string(),
      hasTray: z.boolean(),
      /** What closing and quitting will do, as the settings say. */
      quitLabel: z.string(),
      dataFolders: z.array(z.strictObject({ label: z.string(), path: z.string() })),
    }),
  },
  /** Answers a question of ssh; null takes it back. The answer is a secret: it is in no command, log or roll. */
  'question.answer': {
    payload: z.strictObject({ id: z.string().max(100), answer: z.string().max(10_000).nullable() }),
    result: doneSchema,
  },
  'app.quit': { payload: z.null(), result: doneSchema },
} as const;

/** Pushes from main to the window. */
export const pushes = {
  /** Starts from the roll that was sent before, or brings a whole one; see `applyChange`. */
  'roll.changed': rollChangeSchema,
  show: showSchema,
} as const;

export type Requests = typeof requests;
export type RequestName = keyof Requests;
export type RequestPayload<N extends RequestName> = z.infer<Requests[N]['payload']>;
export type RequestResult<N extends RequestName> = z.infer<Requests[N]['result']>;
export type Pushes = typeof pushes;
export type PushName = keyof Pushes;
export type PushPayload<N extends PushName> = z.infer<Pushes[N]>;

/** What the preload exposes as `window.rollcall`. */
export interface Bridge {
  request<N extends RequestName>(name: N, payload: RequestPayload<N>): Promise<RequestResult<N>>;
  /** Returns the unsubscription. */
  on<N extends PushName>(name: N, listener: (payload: PushPayload<N>) => void): () => void;
}
