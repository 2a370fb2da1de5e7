/** What the client and the worker of looks say to each other. All of it is structured-cloneable. */
import type { Look, LookRequest, ProcessInfo } from '../../host.ts';
import type { LookingPlace } from './looker.ts';

export interface WorkerStart {
  readonly place: LookingPlace;
  /** See `BEAT`. */
  readonly beat: SharedArrayBuffer;
}

/** The worker counts each step in one cell and names the PID it is reading in another (0 when it reads none). */
export const BEAT = { pid: 0, step: 1, length: 2 } as const;

export type ToWorker =
  | { readonly ask: 'look'; readonly id: number; readonly request: LookRequest; readonly skip: readonly number[] }
  | { readonly ask: 'inspect'; readonly id: number; readonly pid: number }
  | { readonly ask: 'port'; readonly id: number; readonly port: number };

export type FromWorker =
  /** It has started and can be asked. */
  | { readonly answer: 'ready' }
  | { readonly answer: 'look'; readonly id: number; readonly look: Look }
  | { readonly answer: 'inspect'; readonly id: number; readonly info: ProcessInfo | null }
  | { readonly answer: 'port'; readonly id: number; readonly holder: ProcessInfo | 'unreadable' | null }
  | { readonly answer: 'unreadable'; readonly id: number; readonly pid: number; readonly why: string }
  | { readonly answer: 'failed'; readonly id: number; readonly why: string };
