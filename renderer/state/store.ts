import { createStore, type StoreApi } from 'zustand/vanilla';
import type { RequestResult } from '../../app/roll/channels.ts';
import type { Failure } from '../../app/roll/commands.ts';
import type { RecordEntry, Roll, Server } from '../../app/roll/schema.ts';
import { share } from '../../app/roll/share.ts';
import type { Sort } from '../view/serverItems.ts';

export type View = 'servers' | 'records' | 'timeline' | 'settings';
export type ListView = Exclude<View, 'settings'>;

/**
 * The open question. Each carries what it listed when it opened, so that it acts on those identities and never on
 * what stands in their place later.
 */
export type Dialog =
  /** What is leaked; the plan it shows fixes the ids it acts on. */
  | { readonly type: 'plan' }
  /** `why` is what stands against it, where something does. */
  | { readonly type: 'reap'; readonly id: string; readonly label: string; readonly why: string | null }
  | { readonly type: 'end'; readonly act: 'stop' | 'restart'; readonly server: Server }
  | { readonly type: 'stop-all'; readonly servers: readonly Server[] }
  | { readonly type: 'start'; readonly kind: string | null }
  | { readonly type: 'clear'; readonly records: readonly RecordEntry[] }
  | { readonly type: 'task'; readonly id: string };

export interface WindowState {
  /** Mirror of the last roll that arrived; null until the first. */
  readonly roll: Roll | null;
  readonly info: RequestResult<'app.info'> | null;
  readonly view: View;
  /** Name of the chosen host; null for all. */
  readonly host: string | null;
  readonly filter: string;
  readonly sort: Sort;
  /** Key of the selected row of each list. */
  readonly selected: Readonly<Record<ListView, string | null>>;
  readonly dialog: Dialog | null;
  /** The pointer is over a list. */
  readonly pointerInList: boolean;
  /** The window has the focus. */
  readonly focused: boolean;
  /** What was asked for and did not happen; shown until dismissed or the next act. */
  readonly problem: Failure | null;
  /** Said once by a screen reader. */
  readonly announcement: string;
  /** Leaked ids that were announced already. */
  readonly announced: ReadonlySet<string>;
}

export type WindowStore = StoreApi<WindowState>;

export function createWindowStore(): WindowStore {
  return createStore<WindowState>(() => ({
    roll: null,
    info: null,
    view: 'servers',
    host: null,
    filter: '',
    sort: { column: 'standing', descending: true },
    selected: { servers: null, records: null, timeline: null },
    dialog: null,
    pointerInList: false,
    focused: true,
    problem: null,
    announcement: '',
    announced: new Set(),
  }));
}

/** New leaks are announced once, as the alert's first line. */
function announce(state: WindowState, roll: Roll): Pick<WindowState, 'announcement' | 'announced'> {
  const leaks = roll.alerts.filter((alert) => alert.level === 'leak');
  const fresh = leaks.filter((alert) => alert.servers.some((id) => !state.announced.has(id)));
  const announced = new Set(leaks.flatMap((alert) => alert.servers));
  return {
    announcement: fresh.length > 0 ? fresh.map((alert) => alert.title).join('. ') : state.announcement,
    announced,
  };
}

/** Takes a copied roll in; what did not change keeps its object. */
export function receiveRoll(store: WindowStore, next: Roll): void {
  showRoll(store, share(store.getState().roll, next));
}

/** Shows a roll whose unchanged parts already are the shown one's, unless a newer one of the same run is shown. */
export function showRoll(store: WindowStore, roll: Roll): void {
  const state = store.getState();
  if (state.roll !== null && roll.version < state.roll.version && roll.takenAt < state.roll.takenAt) return;
  const hostGone = state.host !== null && !roll.hosts.some((host) => host.name === state.host);
  store.setState({ roll, ...announce(state, roll), ...(hostGone ? { host: null } : {}) });
}

/** Selects a row of a list, or nothing. */
export function select(store: WindowStore, view: ListView, key: string | null): void {
  const { selected } = store.getState();
  if (selected[view] !== key) store.setState({ selected: { ...selected, [view]: key } });
}

/** The server behind an id in the roll that is shown now. */
export function findServer(state: Pick<WindowState, 'roll'>, id: string): Server | null {
  return state.roll?.servers.find((server) => server.id === id) ?? null;
}
