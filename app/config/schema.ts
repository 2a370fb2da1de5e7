import { z } from 'zod';
import type { CustomKind } from '../servers/kind.ts';
import { BUILT_IN_NAMES } from '../servers/kinds/kinds.ts';
import type { ProgramOptions } from '../servers/start/locate.ts';
import { whyRefused } from './alias.ts';

/** The one configuration file, complete: what it leaves out has its default. */
export interface Config {
  readonly leak: {
    /** How long a server must have been without owner, client and busy sign before it counts as leaked, in seconds. */
    readonly graceSeconds: number;
  };
  readonly reap: {
    /** `others`: one click reaps what is leaked and everything else asks; `always`: that asks, too. */
    readonly ask: 'others' | 'always';
  };
  readonly quit: {
    /** Servers that are not marked "keep running" stop with the app. */
    readonly stopLocalServers: boolean;
  };
  /** What happens to a server of ours that crashes. */
  readonly restart: {
    /** `failure`: it is started again; `never`: only when a person asks. */
    readonly when: 'failure' | 'never';
    /** Restarts in a row before it is given up. */
    readonly attempts: number;
  };
  readonly look: {
    /** Time between two looks, in seconds. */
    readonly intervalSeconds: number;
  };
  /** Servers that Rollcall starts from now on and that nobody uses. */
  readonly idle: {
    /** They are stopped after this many minutes without a busy session or client; null: never. */
    readonly stopAfterMinutes: number | null;
  };
  readonly hooks: {
    /** Each is run once for every session that ends and that it is for. */
    readonly sessionEnd: readonly SessionEndHook[];
  };
  readonly kinds: readonly CustomKind[];
  /** By kind. */
  readonly start: Readonly<Record<string, ProgramOptions>>;
  /** Hosts that are reached over SSH, by the name they have in Rollcall. */
  readonly hosts: Readonly<Record<string, HostSettings>>;
}

/** What is run when a session has ended. */
export interface SessionEndHook {
  /** A program and its arguments; no shell reads them. */
  readonly command: readonly [string, ...string[]];
  /** Only for sessions of these kinds, as the session's row names its kind; of all when left out. */
  readonly kinds?: readonly string[];
  /** Only for sessions on these hosts; on all when left out. */
  readonly hosts?: readonly string[];
  /** How long it may take. */
  readonly timeoutSeconds: number;
}

/** A host that is reached over SSH. */
export interface HostSettings {
  /** What `ssh` calls it: an alias of its configuration, or `user@machine`. The host's own name when left out. */
  readonly alias?: string;
  /** `at-start`: with the app; `when-asked`: only when a person asks. */
  readonly connect: 'at-start' | 'when-asked';
  /** By kind, for servers that are started there. */
  readonly start: Readonly<Record<string, ProgramOptions>>;
}

export const DEFAULTS: Config = {
  leak: { graceSeconds: 120 },
  reap: { ask: 'others' },
  quit: { stopLocalServers: true },
  restart: { when: 'failure', attempts: 5 },
  look: { intervalSeconds: 2 },
  idle: { stopAfterMinutes: null },
  hooks: { sessionEnd: [] },
  kinds: [],
  start: {},
  hosts: {},
};

/** A plain setting: where it stands, what it accepts, and that in words after "must be". */
export interface Leaf {
  readonly path: readonly [section: keyof Config, key: string];
  readonly schema: z.ZodType;
  readonly mustBe: string;
}

export const LEAVES: readonly Leaf[] = [
  {
    path: ['leak', 'graceSeconds'],
    schema: z.number().min(0).max(604_800),
    mustBe: 'a number of at least 0 and at most 604800 (a week)',
  },
  { path: ['reap', 'ask'], schema: z.enum(['others', 'always']), mustBe: '"others" or "always"' },
  { path: ['quit', 'stopLocalServers'], schema: z.boolean(), mustBe: 'true or false' },
  { path: ['restart', 'when'], schema: z.enum(['failure', 'never']), mustBe: '"failure" or "never"' },
  {
    path: ['restart', 'attempts'],
    schema: z.int().min(1).max(20),
    mustBe: 'a whole number from 1 to 20',
  },
  { path: ['look', 'intervalSeconds'], schema: z.number().min(0.5).max(3600), mustBe: 'a number from 0.5 to 3600' },
  {
    path: ['idle', 'stopAfterMinutes'],
    schema: z.number().min(1).max(10_080).nullable(),
    mustBe: 'null or a number of minutes from 1 to 10080 (a week)',
  },
];

const COMMAND = 'be a list of texts that begins with a program';
const word = z.string('be a text').max(4096, 'be at most 4096 characters long');

/**
 * A custom kind as it stands in the file. Messages go on from "must". The name appears in rows, commands and file names,
 * so it is short and plain.
 */
export const customKindSchema: z.ZodType<CustomKind> = z.object({
  name: z
    .string('be a text')
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/u, 'be 1 to 32 small letters, digits and dashes')
    .refine((name) => !BUILT_IN_NAMES.has(name), 'not be the name of a built-in kind'),
  program: word
    .min(1, 'not be empty')
    .refine(
      (program) => !program.includes('/') || program.startsWith('/'),
      'be a file name without folders, or an absolute path',
    ),
  args: z.array(word, 'be a list of texts').default([]),
  start: z
    .array(word.min(1, 'not be empty'), COMMAND)
    .refine((list) => list.length > 0, COMMAND)
    .transform((list): [string, ...string[]] => [list[0] ?? '', ...list.slice(1)])
    .exactOptional(),
  health: z
    .object({
      path: word.regex(/^\/[^\s#]*$/u, 'begin with a slash and hold no blanks'),
      contains: word.min(1, 'not be empty'),
    })
    .exactOptional(),
});

const NAMES = 'be a list of names';
const names = z.array(word.min(1, NAMES), NAMES).min(1, NAMES);

const SECONDS = 'be a whole number from 1 to 600';
/** How long a hook may take that says nothing of it, in seconds. */
const HOOK_SECONDS = 30;

/** A session-end hook as it stands in the file. Messages go on from "must". */
export const sessionEndHookSchema: z.ZodType<SessionEndHook> = z.object({
  command: z
    .array(word, COMMAND)
    .refine((list) => list.length > 0 && list[0] !== '', COMMAND)
    .refine(([program = '']) => !program.startsWith('-'), 'not begin with a dash')
    .refine(
      ([program = '']) => !program.includes('/') || program.startsWith('/'),
      'begin with a file name without folders, or an absolute path',
    )
    .refine((list) => list.every((one) => !one.includes('\0')), 'hold no NUL')
    .transform((list): [string, ...string[]] => [list[0] ?? '', ...list.slice(1)]),
  kinds: names.exactOptional(),
  hosts: names.exactOptional(),
  timeoutSeconds: z.int(SECONDS).min(1, SECONDS).max(600, SECONDS).default(HOOK_SECONDS),
});

/**
 * Variables by which processes are told apart: ours, and the marks that servers leave in their children. A server that
 * started with another's mark would count as that one's leftover.
 */
const MARKS = /^(?:ROLLCALL_.*|OPENCODE_PID|KILO_PID)$/u;

/** Changes to the start of one kind. */
export const programOptionsSchema: z.ZodType<ProgramOptions> = z.object({
  path: word.regex(/^(?:\/|[A-Za-z]:[\\/])/u, 'be an absolute path').exactOptional(),
  args: z.array(word, 'be a list of texts').exactOptional(),
  env: z
    .record(z.string(), word, 'be an object of texts')
    .refine((env) => Object.keys(env).every((name) => /^[A-Za-z_]\w*$/u.test(name)), 'have plain names')
    .refine(
      (env) => !Object.keys(env).some((name) => MARKS.test(name)),
      'have no ROLLCALL_…, OPENCODE_PID or KILO_PID, by which Rollcall tells processes apart',
    )
    .exactOptional(),
});

const MAX_HOST_NAME = 128;

/** Whether a host may be called that: what may be handed to `ssh` as an alias, and is short enough for a list. */
export function isHostName(name: string): boolean {
  return name.length <= MAX_HOST_NAME && whyRefused(name) === null;
}

/** The machine that Rollcall runs on. */
export const LOCAL_HOST = 'local';

const alias = word.refine(
  (text) => whyRefused(text) === null,
  'be an alias of your ssh configuration, or user@machine',
);

/** A host as it stands in the file; its `start` is read entry by entry. */
export const hostSettingsSchema = z.object({
  alias: alias.exactOptional(),
  connect: z.enum(['at-start', 'when-asked'], 'be "at-start" or "when-asked"').default('when-asked'),
});

/** Keys that are known at each place; others are told as a warning, since they are mostly typing errors. */
export const KNOWN_KEYS = {
  top: ['$schema', ...Object.keys(DEFAULTS)],
  kind: ['name', 'program', 'args', 'start', 'health'],
  health: ['path', 'contains'],
  program: ['path', 'args', 'env'],
  hooks: ['sessionEnd'],
  hook: ['command', 'kinds', 'hosts', 'timeoutSeconds'],
  host: ['alias', 'connect', 'start'],
} as const;
