/** Runs sandboxed before the window's page: gives it the bridge and nothing else of Electron or Node. */
import { contextBridge, ipcRenderer } from 'electron';
import { z } from 'zod';
import { type Bridge, type PushName, pushes, type RequestName, requests } from '../app/roll/channels.ts';

// The page's content security policy forbids the code generation that zod would otherwise try.
z.config({ jitless: true });

const answerSchema = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(true), result: z.unknown() }),
  z.strictObject({ ok: z.literal(false), message: z.string() }),
]);

type Listener = (payload: unknown) => void;

const listeners = new Map<string, Set<Listener>>();
/** The latest push that nobody listened to yet: main sends `show` as soon as the page has loaded. */
const waiting = new Map<string, unknown>();

for (const [name, schema] of Object.entries(pushes)) {
  ipcRenderer.on(name, (_event, payload: unknown) => {
    const checked = schema.safeParse(payload);
    if (!checked.success) {
      console.error(`a push ${name} was dropped: ${checked.error.message}`);
      return;
    }
    const heard = listeners.get(name);
    if (heard === undefined || heard.size === 0) waiting.set(name, checked.data);
    else for (const listener of heard) listener(checked.data);
  });
}

async function request(name: unknown, payload: unknown): Promise<unknown> {
  if (typeof name !== 'string' || !Object.hasOwn(requests, name))
    throw new Error(`There is no request ${String(name)}.`);
  const known = name as RequestName;
  const answer = answerSchema.parse(await ipcRenderer.invoke(known, payload));
  if (!answer.ok) throw new Error(answer.message);
  return requests[known].result.parse(answer.result);
}

function on(name: unknown, listener: unknown): () => void {
  if (typeof name !== 'string' || !Object.hasOwn(pushes, name)) throw new Error(`There is no push ${String(name)}.`);
  if (typeof listener !== 'function') throw new Error('A listener must be a function.');
  const known = name as PushName;
  const hears: Listener = (payload) => {
    listener(payload);
  };
  const heard = listeners.get(known) ?? new Set<Listener>();
  listeners.set(known, heard.add(hears));
  if (waiting.has(known)) {
    const payload = waiting.get(known);
    waiting.delete(known);
    queueMicrotask(() => hears(payload));
  }
  return () => {
    heard.delete(hears);
  };
}

// Both functions check their arguments themselves: the page's types do not bind at run time.
const bridge = { request, on } as unknown as Bridge;
contextBridge.exposeInMainWorld('rollcall', bridge);
