/**
 * The roll: one immutable snapshot of every host, server, leftover, record and running act. Tray, window and CLI
 * all show this and nothing else. Bytes are bytes; times are ISO 8601 in UTC; percentages are of one core.
 */
import { z } from 'zod';

const iso = z.iso.datetime();
const count = z.int().nonnegative();
const bytes = z.number().nonnegative();

export const STANDINGS = ['supervised', 'service', 'owned', 'detached', 'suspect', 'leaked'] as const;
export const standingSchema = z.enum(STANDINGS);
export type Standing = z.infer<typeof standingSchema>;

/** States of a server that Rollcall started; `app/supervisor/lifecycle/lifecycle.ts` says what they mean. */
export const LIFE_STATES = [
  'planned',
  'starting',
  'ready',
  'unresponsive',
  'stopping',
  'stopped',
  'failed',
  'lost',
] as const;
export const lifeStateSchema = z.enum(LIFE_STATES);
export type LifeState = (typeof LIFE_STATES)[number];

export const verdictWordSchema = z.enum(['same', 'gone', 'zombie', 'reused', 'thread', 'foreign', 'unknown']);

export const identitySchema = z.strictObject({
  hostId: z.string(),
  bootId: z.string(),
  pidNamespace: z.string(),
  pid: z.int().positive(),
  startTime: z.templateLiteral([z.enum(['linux', 'darwin', 'win']), ':', z.string()]),
  pidfdId: z.string().exactOptional(),
});

/** First 16 hex digits of sha256 of the identity's key. */
export const idSchema = z.string().regex(/^[0-9a-f]{16}$/u);

/** One line of the checklist behind a standing. */
export const checkSchema = z.strictObject({
  /** Stable name: owner, client, busy, service, detached, grace, identity. */
  check: z.enum(['owner', 'client', 'busy', 'service', 'detached', 'grace', 'identity']),
  /** What would make the server leaked, in words: "No client". */
  label: z.string(),
  result: z.enum(['holds', 'does-not-hold', 'could-not-run']),
  fact: z.string(),
});
export type Check = z.infer<typeof checkSchema>;

/** Whether an act is open to the person for this row now, and the sentence that says why not. */
export const permissionSchema = z.discriminatedUnion('allowed', [
  /** Acts at once. */
  z.strictObject({ allowed: z.literal('yes') }),
  /** Shows the plan and asks. */
  z.strictObject({ allowed: z.literal('confirm'), why: z.string() }),
  /** Asks, and the answer must name it (`--force`). */
  z.strictObject({ allowed: z.literal('force'), why: z.string() }),
  z.strictObject({ allowed: z.literal('no'), why: z.string() }),
]);
export type Permission = z.infer<typeof permissionSchema>;

export const processRowSchema = z.strictObject({
  id: idSchema,
  identity: identitySchema,
  pid: count,
  ppid: count,
  /** Short name: the program's file name. */
  name: z.string(),
  /** Redacted command line, one line. */
  command: z.string(),
  role: z.enum(['server', 'wrapper', 'child']),
  /** Levels below the server's topmost process. */
  depth: count,
  rssBytes: bytes,
  pssBytes: bytes.nullable(),
  state: z.string(),
});
export type ProcessRow = z.infer<typeof processRowSchema>;

export const ownerSchema = z.strictObject({
  /** As a person would say it: "VS Code", "node launcher.js", "opencode.service", "Rollcall". */
  label: z.string(),
  pid: count.nullable(),
  alive: z.boolean(),
  /** When it was noticed to be gone; null while alive and where nobody saw it. */
  endedAt: iso.nullable(),
});

export const listeningSchema = z.strictObject({ address: z.string(), port: count });

export const clientSchema = z.strictObject({
  /** "node, PID 50112", or an address where the process cannot be told. */
  label: z.string(),
  pid: count.nullable(),
  connections: count,
});

export const serverSchema = z.strictObject({
  id: idSchema,
  host: z.string(),
  kind: z.string(),
  pid: count,
  /** Every process of the server itself (wrappers first); its children are in `processes`. */
  pids: z.array(count),
  identity: identitySchema,
  standing: standingSchema,
  reasons: z.array(z.string()),
  checks: z.array(checkSchema),
  health: z.enum(['ok', 'unresponsive', 'locked', 'starting', 'unknown']),
  healthDetail: z.string().nullable(),
  version: z.string().nullable(),
  listening: z.array(listeningSchema),
  transport: z.enum(['tcp', 'socket', 'stdio']),
  /** Loopback http URL that a browser can open; null when there is none. */
  url: z.string().nullable(),
  clients: z.array(clientSchema).nullable(),
  busy: z.enum(['busy', 'idle', 'unknown']),
  busySign: z.string(),
  owner: ownerSchema.nullable(),
  processes: z.array(processRowSchema),
  /** Server and children together; PSS where it could be read, else RSS. */
  rssBytes: bytes,
  memoryBytes: bytes,
  cpuPercent: z.number().nullable(),
  startedAt: iso,
  directory: z.string().nullable(),
  command: z.array(z.string()),
  executable: z.string().nullable(),
  /** A server of another uid is shown and never signalled. */
  ownUid: z.boolean(),
  /** Copies of one session are one row: how many it stands for. */
  duplicates: count,
  /** The newest copy of the session, which stays when the row is reaped; null for a row of one. */
  keeps: z.strictObject({ pid: count, memoryBytes: bytes }).nullable(),
  /** Memory or children grew over the last hour; the sentence for the tag's tooltip. */
  growing: z.string().nullable(),
  /** Its live sessions; null where they cannot be known, and then why. */
  sessions: z.discriminatedUnion('known', [
    z.strictObject({ known: z.literal(true), live: count, busy: count }),
    z.strictObject({ known: z.literal(false), why: z.string() }),
  ]),
  supervised: z
    .strictObject({
      recordPath: z.string(),
      keepRunning: z.boolean(),
      logPath: z.string().nullable(),
      nonceSeen: z.boolean(),
      state: lifeStateSchema,
      /** Why a restart would bring something else than what runs, in a sentence; null when it would not. */
      outdated: z.string().nullable(),
      /** It is stopped after this many minutes without a busy session or client; null when it is not. */
      idleMinutes: z.number().positive().nullable(),
      /** When that is due, once it has been announced. */
      idleStopAt: iso.nullable(),
    })
    .nullable(),
  reap: permissionSchema,
  stop: permissionSchema,
  restart: permissionSchema,
});
export type Server = z.infer<typeof serverSchema>;

/** A child whose server is gone, found by the mark the server left in its environment. */
export const leftoverSchema = z.strictObject({
  id: idSchema,
  host: z.string(),
  kind: z.string(),
  pid: count,
  identity: identitySchema,
  /** PID of the server it carries the mark of. */
  ofPid: count,
  name: z.string(),
  command: z.string(),
  reasons: z.array(z.string()),
  rssBytes: bytes,
  startedAt: iso,
  directory: z.string().nullable(),
  processes: z.array(processRowSchema),
  reap: permissionSchema,
});
export type Leftover = z.infer<typeof leftoverSchema>;

export const hostStateSchema = z.enum([
  'connected',
  'connecting',
  /** A question of ssh waits for an answer. */
  'authenticating',
  'reconnecting',
  'disconnected',
  'failed',
  'unsupported',
]);

/** Steps of connecting, in order. */
export const SSH_STEPS = [
  'resolve',
  'name',
  'port',
  'host-key',
  'authentication',
  'shell',
  'probe',
  'forward',
] as const;
export const sshStepSchema = z.strictObject({
  step: z.enum(SSH_STEPS),
  state: z.enum(['done', 'running', 'failed', 'waiting']),
  /** What came of it: an address, a fingerprint, a method; null where there is nothing to say. */
  detail: z.string().nullable(),
});
export type SshStepEntry = z.infer<typeof sshStepSchema>;

/** What is particular to a host that is reached over SSH. */
export const sshSchema = z.strictObject({
  /** What `ssh` calls it. */
  alias: z.string(),
  /** It stands in the configuration file. */
  saved: z.boolean(),
  connect: z.enum(['at-start', 'when-asked']),
  /** Name of the host whose connection it uses, since both are one machine; null for a connection of its own. */
  sharedWith: z.string().nullable(),
  /** `user@machine:port` as ssh resolved it; null before it did. */
  target: z.string().nullable(),
  steps: z.array(sshStepSchema),
  /** Reconnects in a row, and when the next one comes; 0 and null while none is waited for. */
  attempt: count,
  retryAt: iso.nullable(),
  /** Why the last attempt failed; null when it did not. */
  failure: z
    .strictObject({
      step: z.string(),
      code: z.string(),
      message: z.string(),
      remedy: z.string(),
      /** What ssh or the host said. */
      output: z.string().nullable(),
    })
    .nullable(),
});
export type SshEntry = z.infer<typeof sshSchema>;

/** A question of ssh that only a person can answer. The answer never enters the roll. */
export const questionSchema = z.strictObject({
  id: z.string(),
  host: z.string(),
  type: z.enum(['password', 'passphrase', 'code', 'host-key', 'confirm']),
  /** In the words of ssh. */
  text: z.string(),
  fingerprint: z.string().nullable(),
  keyPath: z.string().nullable(),
  /** 1 for the first time; more after a wrong answer. */
  attempt: count,
  /** When it is given up without an answer. */
  until: iso,
});
export type Question = z.infer<typeof questionSchema>;

/** A host that could be added: from the person's ssh configuration or known hosts. */
export const offeredSchema = z.strictObject({ alias: z.string(), from: z.enum(['config', 'known-hosts']) });
export type Offered = z.infer<typeof offeredSchema>;

export const hostSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  state: hostStateSchema,
  /** Machine's own name, shown beside the host's. */
  hostname: z.string(),
  /** One sentence where the state needs one. */
  detail: z.string().nullable(),
  lookedAt: iso.nullable(),
  /** How many processes the last look covered. */
  counted: count,
  /** Not everything could be read; the sentence says what. */
  partial: z.string().nullable(),
  signalling: z.strictObject({ method: z.enum(['pidfd', 'verify-then-kill']), note: z.string() }),
  cpuPercent: z.number().nullable(),
  memoryTotalBytes: bytes.nullable(),
  memoryUsedBytes: bytes.nullable(),
  load1: z.number().nullable(),
  /** Null for this machine. */
  ssh: sshSchema.nullable(),
});
export type HostEntry = z.infer<typeof hostSchema>;

/** A server of ours that went away unasked, or could not be brought back; there is no process of it any more. */
export const endedSchema = z.strictObject({
  nonce: z.uuid(),
  host: z.string(),
  kind: z.string(),
  /** As its row was called: "opencode :4096 on local". */
  label: z.string(),
  directory: z.string(),
  /** PID it last had. */
  pid: count,
  /** `planned` while it is being started again. */
  state: z.enum(['lost', 'failed', 'planned']),
  /** What happened, as a clause: "it was ended by SIGKILL". */
  why: z.string(),
  endedAt: iso,
  /** Number of the restart that is waited for or was the last one, and how many there are at most. */
  attempt: count,
  attempts: count,
  /** When it is started again by itself; null when only a person does. */
  retryAt: iso.nullable(),
  logPath: z.string().nullable(),
});
export type Ended = z.infer<typeof endedSchema>;

/** A record that does not verify, or cannot be read. Records that verify are the `supervised` servers. */
export const recordEntrySchema = z.strictObject({
  host: z.string(),
  /** `rollcall` for our own, else the tool that wrote it. */
  source: z.string(),
  path: z.string(),
  pid: count.nullable(),
  verdict: verdictWordSchema.or(z.literal('corrupt')),
  /** One sentence: "names PID 4711, which is now postgres, started 3 days ago". */
  detail: z.string(),
  clearable: z.boolean(),
  /** Why it is kept, where it is not clearable. */
  keptBecause: z.string().nullable(),
  /** Hex sha256 of the file as judged; clearing happens only if it is still the same bytes. */
  sha256: z.string(),
  kind: z.string().nullable(),
  directory: z.string().nullable(),
  writtenAt: iso.nullable(),
});
export type RecordEntry = z.infer<typeof recordEntrySchema>;

/**
 * What a session does, as its tool says it.
 *
 *   busy      it works
 *   waiting   it waits for a person: a permission, a question
 *   retrying  its model failed and is asked again
 *   error     its last turn failed
 *   idle      it waits for the next prompt
 *   ended     it was deleted or ended, or its server is gone; shown for a while
 *   unknown   its tool says nothing, or something this version does not know
 */
export const SESSION_STATES = ['busy', 'waiting', 'retrying', 'error', 'idle', 'ended', 'unknown'] as const;
export const sessionStateSchema = z.enum(SESSION_STATES);
export type SessionState = z.infer<typeof sessionStateSchema>;

/** One agent conversation that is carried by something that runs, or was until a while ago. */
export const sessionSchema = z.strictObject({
  /** Of the machine, its tool and its id: unique in the roll, and the same in the next run. */
  key: idSchema,
  /** As its tool calls it. */
  id: z.string(),
  host: z.string(),
  /** Kind of its server, or the tool that carries it without one: `claude`. */
  kind: z.string(),
  /** Row of the server that carries it; null where there is none (any more). */
  server: idSchema.nullable(),
  /** What carries it, as rows name it: "opencode :4096", "claude, PID 4711". */
  carrier: z.string(),
  /** One line; empty where it has none (yet). */
  title: z.string(),
  directory: z.string().nullable(),
  state: sessionStateSchema,
  /** What it waits for, why it is tried again, what failed, how it ended, why nothing is known; a clause. */
  detail: z.string().nullable(),
  /** Since when it is in this state, as far as that was seen. */
  since: iso.nullable(),
  startedAt: iso.nullable(),
  lastActivityAt: iso.nullable(),
  /** Key of the session that started it. */
  parent: idSchema.nullable(),
  /** Command that attaches a terminal to it; null where its kind has none. */
  attach: z.array(z.string()).nullable(),
  /** Interrupts what it does. */
  abort: permissionSchema,
  /** Interrupts it and runs what is to run at its end; its history is kept. */
  end: permissionSchema,
});
export type Session = z.infer<typeof sessionSchema>;

export const alertSchema = z.strictObject({
  id: z.string(),
  level: z.enum(['leak', 'fault', 'notice']),
  /** What and how much: "3 leaked servers hold 4.31 GB". */
  title: z.string(),
  /** Why, and what to do. */
  detail: z.string(),
  /** The button, when there is one. */
  act: z.enum([
    'reap-leaked',
    'show-server',
    'show-records',
    'start-again',
    'start-guard',
    'retry-hooks',
    'keep-awake',
    'none',
  ]),
  servers: z.array(idSchema),
  /** Nonce of the ended server that it is about; absent where it is about none. */
  ended: z.uuid().exactOptional(),
});
export type Alert = z.infer<typeof alertSchema>;

export const OUTCOMES = ['gone', 'refused', 'survived', 'came-back'] as const;
export const reapResultSchema = z.strictObject({
  pid: count,
  /** Row it belongs to. */
  id: idSchema.nullable(),
  label: z.string(),
  outcome: z.enum(OUTCOMES),
  verdict: verdictWordSchema,
  /** What was sent, in order: "dispose", "SIGTERM 4711", "SIGKILL 4711". */
  signals: z.array(z.string()),
  message: z.string(),
  freedBytes: bytes,
});
export type ReapResult = z.infer<typeof reapResultSchema>;

/** An act under way or just finished: progress for the alert's place, the row and the tray. */
export const taskSchema = z.strictObject({
  id: z.string(),
  act: z.enum(['start', 'stop', 'restart', 'reap']),
  title: z.string(),
  startedAt: iso,
  endedAt: iso.nullable(),
  state: z.enum(['running', 'done', 'failed']),
  /** What it is doing now, or how it ended, in one sentence. */
  message: z.string(),
  rows: z.array(
    z.strictObject({
      /** Server or leftover it acts on; null for one that is only being started. */
      id: idSchema.nullable(),
      label: z.string(),
      /** Phase in words: "dispose", "TERM, 1.4 of 5 s", "gone". */
      phase: z.string(),
      outcome: z.enum(OUTCOMES).nullable(),
    }),
  ),
  results: z.array(reapResultSchema),
});
export type Task = z.infer<typeof taskSchema>;

/** A line of the audit, as the timeline shows it. */
export const auditEntrySchema = z.strictObject({
  at: iso,
  event: z.string(),
  host: z.string(),
  pid: count.nullable(),
  /** Row of the process it is about; null where it is about none. */
  server: idSchema.nullable(),
  /** Key of the session it is about. */
  session: idSchema.nullable(),
  subject: z.string(),
  text: z.string(),
});
export type AuditEntry = z.infer<typeof auditEntrySchema>;

/** A kind the person may start, and whether its program was found. */
export const startableSchema = z.strictObject({
  kind: z.string(),
  available: z.boolean(),
  /** Where its program is, or why it cannot be started and what to do. */
  detail: z.string(),
});

export const rollSchema = z.strictObject({
  /** Grows by one with every snapshot of one run. */
  version: count,
  takenAt: iso,
  hosts: z.array(hostSchema),
  servers: z.array(serverSchema),
  leftovers: z.array(leftoverSchema),
  ended: z.array(endedSchema),
  records: z.array(recordEntrySchema),
  sessions: z.array(sessionSchema),
  alerts: z.array(alertSchema),
  tasks: z.array(taskSchema),
  timeline: z.array(auditEntrySchema),
  startable: z.array(startableSchema),
  questions: z.array(questionSchema),
  offered: z.array(offeredSchema),
  settings: z.strictObject({
    /** `others`: one click reaps what is leaked; `always`: that asks, too. */
    reapAsk: z.enum(['others', 'always']),
    graceSeconds: z.number().nonnegative(),
    /** Local servers that are not marked to keep running stop with the app. */
    stopLocalServers: z.boolean(),
    configPath: z.string(),
    /** What is wrong with the configuration file, with its line; null when it is fine or absent. */
    configProblem: z.string().nullable(),
    statePath: z.string(),
    /** How many session-end hooks the configuration has. */
    hooks: count,
  }),
});
export type Roll = z.infer<typeof rollSchema>;
