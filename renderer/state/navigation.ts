/** Where the window stands: what tray, notifications and second launches open, and the mirror of the roll. */
import { applyChange } from '../../app/roll/change.ts';
import type { Bridge, NavigationTarget } from '../../app/roll/channels.ts';
import { endedBy } from '../../app/text/ended-words.ts';
import { endedKey } from '../view/banners.ts';
import type { WindowActions } from './actions.ts';
import { brokenConnection } from './failures.ts';
import { findServer, receiveRoll, select, showRoll, type WindowStore } from './store.ts';

/** Opens the place that tray, notification or second launch asked for. */
export function showPlace(store: WindowStore, acts: WindowActions, place: NavigationTarget): void {
  const named =
    place.host === undefined ? undefined : store.getState().roll?.hosts.find(({ name }) => name === place.host);
  store.setState({
    view: place.view,
    host: named?.name ?? null,
    filter: '',
    scope: null,
    problem: null,
  });
  if (place.server !== null) select(store, 'servers', place.server);
  if (place.ended !== undefined) store.setState({ strip: endedKey(place.ended) });
  const state = store.getState();
  const server = place.server === null ? null : findServer(state, place.server);
  switch (place.dialog) {
    case 'none':
      break;
    case 'plan-leaked':
      acts.ask({ type: 'plan' });
      break;
    case 'plan-server': {
      const leftover = state.roll?.leftovers.find((row) => row.id === place.server);
      if (server !== null) acts.openServer(server, 'reap');
      else if (leftover !== undefined) acts.openLeftover(leftover, 'reap');
      break;
    }
    case 'start':
      acts.ask({ type: 'start', kind: place.kind });
      break;
    case 'stop-server':
      if (server !== null) acts.openServer(server, 'stop');
      break;
    case 'restart-server':
      if (server !== null) acts.openServer(server, 'restart');
      break;
    case 'log': {
      const ended = state.roll === null ? null : endedBy(state.roll, place.ended);
      if (ended !== null) acts.ask({ type: 'log', ended });
      break;
    }
    case 'host-steps':
      if (named !== undefined) acts.showSteps(named.name);
      break;
    case 'disconnect-host':
      if (named !== undefined) acts.openHost(named, 'disconnect-stop');
      break;
    case 'stop-all':
      acts.ask({
        type: 'stop-all',
        servers: state.roll?.servers.filter((row) => row.host === 'local' && row.stop.allowed !== 'no') ?? [],
      });
      break;
  }
}

/** Mirrors the roll: subscribes first, then asks, so that no snapshot falls between. Returns the unsubscription. */
export function connectNavigation(store: WindowStore, acts: WindowActions, bridge: Bridge): () => void {
  // A place can be asked for while the first roll is still on its way; its rows are not known before that.
  let waiting: NavigationTarget | null = null;
  const showWaiting = (): void => {
    if (waiting !== null) showPlace(store, acts, waiting);
    waiting = null;
  };
  const askForRoll = (): void => {
    bridge.request('roll.get', null).then(
      (roll) => {
        receiveRoll(store, roll);
        showWaiting();
      },
      (error: unknown) => acts.showError(brokenConnection(error)),
    );
  };
  const stopRolls = bridge.on('roll.changed', (change) => {
    const next = applyChange(store.getState().roll, change);
    // A change from a roll that is not the one shown: the whole one answers.
    if (next === null) return askForRoll();
    showRoll(store, next);
    showWaiting();
  });
  const stopShows = bridge.on('show', (place) => {
    if (store.getState().roll === null) waiting = place;
    else showPlace(store, acts, place);
  });
  acts.readInfo();
  askForRoll();
  return () => {
    stopRolls();
    stopShows();
  };
}
