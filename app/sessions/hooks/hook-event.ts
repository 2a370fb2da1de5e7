/** What a session-end hook is given: an object on its standard input, and the same as variables. Pure. */
import { createHash } from 'node:crypto';
import type { SessionEndHook } from '../../config/schema.ts';
import { commandText } from '../../servers/redact.ts';
import { serverEnvironment } from '../../servers/start/environment.ts';
import type { SessionRun } from '../session-run.ts';
import type { DueHook, HookRef } from '../store/ledger.ts';

/** Longest variable, in UTF-16 units: the system takes no longer than 128 kB each. */
const VARIABLE_MAX = 16_000;
const LABEL_MAX = 200;

const refs = new WeakMap<SessionEndHook, HookRef>();

/** A hook as the ledger knows it: its command is never read from there. */
export function hookRefOf(hook: SessionEndHook): HookRef {
  let ref = refs.get(hook);
  if (ref === undefined) {
    const id = createHash('sha256').update(JSON.stringify(hook.command)).digest('hex').slice(0, 16);
    ref = { id, label: commandText(hook.command, LABEL_MAX) };
    refs.set(hook, ref);
  }
  return ref;
}

/** Whether a hook is for the sessions of this kind and host. */
export function isFor(hook: SessionEndHook, { kind, host }: Pick<SessionRun, 'kind' | 'host'>): boolean {
  return (hook.kinds?.includes(kind) ?? true) && (hook.hosts?.includes(host) ?? true);
}

/** The hooks that are due when this life ends; each once, however often the configuration names it. */
export function hooksFor(hooks: readonly SessionEndHook[], life: Pick<SessionRun, 'kind' | 'host'>): HookRef[] {
  const due = hooks.filter((hook) => isFor(hook, life)).map(hookRefOf);
  return [...new Map(due.map((ref) => [ref.id, ref])).values()];
}

export interface HookEvent {
  readonly event: 'session-end';
  readonly key: string;
  readonly session: string;
  /** The same by the name that hooks of agent tools know: entire's reads it. */
  readonly session_id: string;
  readonly kind: string;
  readonly host: string;
  readonly directory: string | null;
  readonly title: string;
  readonly reason: string;
  readonly detail: string;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly hookKey: string;
}

export function eventOf({ key, life, ending }: DueHook): HookEvent {
  return {
    event: 'session-end',
    key: life.key,
    session: life.id,
    session_id: life.id,
    kind: life.kind,
    host: life.host,
    directory: life.directory,
    title: life.title,
    reason: ending.reason,
    detail: ending.text,
    startedAt: life.openedAt,
    endedAt: ending.at,
    hookKey: key,
  };
}

/** `hookKey` as ROLLCALL_HOOK_KEY; what is null is empty. */
function variablesOf(event: HookEvent): Record<string, string> {
  return Object.fromEntries(
    Object.entries(event).map(([name, value]: [string, string | null]) => [
      `ROLLCALL_${name.replaceAll(/[A-Z]/gu, '_$&').toUpperCase()}`,
      // No variable can hold a NUL.
      (value ?? '').replaceAll('\0', '').slice(0, VARIABLE_MAX),
    ]),
  );
}

/**
 * The person's own environment and the event, without what is ours or another server's.
 *
 * @param path the PATH on which the hook's program is
 */
export function hookEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  path: string,
  event: HookEvent,
): Record<string, string> {
  const environment = Object.entries(serverEnvironment({ ...own, PATH: path }, {}));
  const persons = environment.filter(([name]) => !name.startsWith('ROLLCALL_'));
  return { ...Object.fromEntries(persons), ...variablesOf(event) };
}
