import { createStore, type StoreApi } from 'zustand/vanilla';
import type { RequestResult } from '../../app/roll/channels.ts';
import type { CommandResult, Failure } from '../../app/roll/commands.ts';
import type { Alert, Ended, HostEntry, RecordEntry, Roll, Server, Session } from '../../app/roll/schema.ts';
import { share } from '../../app/roll/share.ts';
import { hostProblem } from '../../app/text/host-words.ts';
import type { Sort } from '../view/serverItems.ts';
import type { SessionSort } from '../view/sessionItems.ts';

/** A host as it is written into the list: added, or changed where `was` is the name it had. */
export interface HostForm {
  readonly name: string;
  readonly alias: string;
  readonly connect: 'at-start' | 'when-asked';
  readonly was: string | null;
}

export type View = 'servers' | 'sessions' | 'records' | 'timeline' | 'settings';
export type ListView = Exclude<View, 'settings'>;

/** The one server or session that sessions and timeline are narrowed to. It may be gone: its past is worth seeing, too. */
export interface Scope {
  readonly type: 'server' | 'session';
  /** Row of the server, or key of the session. */
  readonly id: string;
  readonly name: string;
}

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
  | { readonly type: 'session'; readonly act: 'abort' | 'end'; readonly session: Session }
  | { readonly type: 'stop-all'; readonly servers: readonly Server[] }
  | { readonly type: 'start'; readonly kind: string | null }
  | { readonly type: 'clear'; readonly records: readonly RecordEntry[] }
  | { readonly type: 'task'; readonly id: string }
  /** Adds a host, or changes one; `form` is what the fields begin with. */
  | { readonly type: 'host-form'; readonly form: HostForm | null }
  | HostSteps
  | { readonly type: 'disconnect'; readonly host: string; readonly servers: readonly Server[] }
  | { readonly type: 'remove-host'; readonly host: HostEntry; readonly servers: readonly Server[] }
  /** The log of a server that ended, as it was when it was asked for. */
  | { readonly type: 'log'; readonly ended: Ended };

/** One attempt to connect, with its steps. */
export interface HostSteps {
  readonly type: 'host-steps';
  /** Name the host has in the roll, or its alias. */
  readonly host: string;
  /** Its answer; null where the dialog only shows what an earlier attempt came to. */
  readonly answer: Promise<CommandResult> | null;
  /** What is saved once it is connected, or offered to be. */
  readonly form: HostForm | null;
  /** `add`: it is saved when it is connected; `test`: the person is asked then; `show`: nothing is saved. */
  readonly purpose: 'add' | 'test' | 'show';
}

export interface WindowState {
  /** Mirror of the last roll that arrived; null until the first. */
  readonly roll: Roll | null;
  readonly info: RequestResult<'app.info'> | null;
  readonly view: View;
  /** Name of the chosen host; null for all. */
  readonly host: string | null;
  readonly filter: string;
  readonly scope: Scope | null;
  readonly sort: Sort;
  readonly sessionSort: SessionSort;
  /** Key of the selected row of each list. */
  readonly selected: Readonly<Record<ListView, string | null>>;
  readonly dialog: Dialog | null;
  /** Key of the strip that was turned to; the worst one is shown where it is null or gone. */
  readonly strip: string | null;
  /** The pointer is over a list. */
  readonly pointerInList: boolean;
  /** The window has the focus. */
  readonly focused: boolean;
  /** What was asked for and did not happen; shown until dismissed or the next act. */
  readonly problem: Failure | null;
  /** Said once by a screen reader. */
  readonly announcement: string;
  /** Leaked ids, nonces of ended servers, alerts of what stops soon and troubles of hosts that were announced already. */
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
    scope: null,
    sort: { column: 'standing', descending: true },
    sessionSort: { column: 'state', descending: true },
    selected: { servers: null, sessions: null, records: null, timeline: null },
    dialog: null,
    strip: null,
    pointerInList: false,
    focused: true,
    problem: null,
    announcement: '',
    announced: new Set(),
  }));
}

/** What stops soon or waits for an answer of the person, and is no leak. */
const TOLD_ACTS: ReadonlySet<Alert['act']> = new Set(['keep-awake', 'retry-hooks']);

/** New leaks, servers that ended or stop soon, failed hooks and hosts in trouble are announced once, as the alert's first line. */
function announce(state: WindowState, roll: Roll): Pick<WindowState, 'announcement' | 'announced'> {
  const keysOf = ({ id, act, level, servers, ended }: Alert): readonly string[] => {
    if (ended !== undefined) return [`${ended} ${level}`];
    return TOLD_ACTS.has(act) ? [id] : level === 'leak' ? servers : [];
  };
  const fresh = roll.alerts.filter((alert) => keysOf(alert).some((key) => !state.announced.has(key)));
  const now = Date.parse(roll.takenAt);
  const hosts = roll.hosts.flatMap((host) => hostProblem(host, now)?.title ?? []);
  const titles = [...fresh.map(({ title }) => title), ...hosts.filter((title) => !state.announced.has(title))];
  return {
    announcement: titles.length > 0 ? titles.join('. ') : state.announcement,
    announced: new Set([...roll.alerts.flatMap(keysOf), ...hosts]),
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

/** Shows the row of a server, whatever was filtered. */
export function revealServer(store: WindowStore, id: string): void {
  store.setState({ view: 'servers', host: null, filter: '', scope: null, problem: null });
  select(store, 'servers', id);
}

/** The server behind an id in the roll that is shown now. */
export function findServer(state: Pick<WindowState, 'roll'>, id: string): Server | null {
  return state.roll?.servers.find((server) => server.id === id) ?? null;
}
