import type { Bridge, RequestName, RequestPayload, RequestResult } from '../../app/roll/channels.ts';
import type { Command, CommandResult, Failure, Plan } from '../../app/roll/commands.ts';
import type { Ended, HostEntry, Leftover, Permission, RecordEntry, Server } from '../../app/roll/schema.ts';
import { actRefusal } from '../../app/text/host-words.ts';
import { leftoverName, rowName } from '../../app/text/words.ts';
import { type Act, urlRefusal } from '../view/serverActs.ts';
import { brokenConnection, refused } from './failures.ts';
import { type HostActions, hostActions } from './hostActions.ts';
import { type SessionActions, sessionActions } from './sessionActions.ts';
import type { Dialog, View, WindowState, WindowStore } from './store.ts';

/** Everything the window can ask the rest of Rollcall to do, and everything that changes what the window shows. */
export interface WindowActions extends HostActions, SessionActions {
  /** Never rejects: a broken connection is a failure, too. */
  run(command: Command): Promise<CommandResult>;
  plan(targets: 'leaked' | readonly string[]): Promise<Plan | Failure>;
  /** @param server id of a supervised server, or nonce of one that ended */
  readLog(server: string): Promise<RequestResult<'log.read'> | null>;
  /** Opens the log as a file; `server` as for `readLog`. */
  openLog(server: string): void;
  chooseFolder(start: string | null): Promise<string | null>;
  copy(text: string): void;
  openConfig(): void;
  look(): void;
  dismiss(task: string): void;
  /** Where the guard does not run. */
  startGuard(): void;
  keepRunning(server: string, keepRunning: boolean): void;
  /** Starts a server that ended again, now. A second wish for the same is the first one. */
  startAgain(ended: Ended): void;
  /** Takes a server that ended off the list. */
  forget(ended: Ended): void;
  /** The one click: acts at once on what is leaked, or opens the plan where the settings say so. */
  reapLeaked(): void;
  openServer(server: Server, act: Act): void;
  openLeftover(leftover: Leftover, act: Act): void;
  askClear(records: readonly RecordEntry[]): void;
  /** Hands an answer to ssh, or takes the question back with null. Keeps nothing of it. */
  answer(question: string, answer: string | null): Promise<Failure | null>;
  /** Asks for what the window must know of the app: home, tray, what quitting does. */
  readInfo(): void;
  show(view: View): void;
  ask(dialog: Dialog): void;
  closeDialog(): void;
  showError(failure: Failure | null): void;
}

/** What stands against an act that is open anyway. */
function against(permission: Permission): string | null {
  return permission.allowed === 'yes' ? null : permission.why;
}

/** Sessions or timeline of one server alone. */
function narrowedTo(
  { host }: Pick<WindowState, 'host'>,
  server: Server,
): Pick<WindowState, 'scope' | 'filter' | 'host'> {
  return {
    scope: { type: 'server', id: server.id, name: rowName(server) },
    filter: '',
    host: host === server.host ? host : null,
  };
}

/** True for an answer that says why there is no plan. */
export function isFailure(answer: Plan | Failure): answer is Failure {
  return 'code' in answer;
}

export function createActs(store: WindowStore, bridge: Bridge): WindowActions {
  const showError = (failure: Failure | null): void => store.setState({ problem: failure });
  const ask = (dialog: Dialog): void => store.setState({ dialog, problem: null });

  const tryRequest = async <N extends RequestName>(
    name: N,
    payload: RequestPayload<N>,
  ): Promise<RequestResult<N> | Failure> => {
    try {
      return await bridge.request(name, payload);
    } catch (error) {
      return brokenConnection(error);
    }
  };

  /** Sends a request whose answer matters only when it failed. */
  const order = async (name: 'url.open' | 'url.copy' | 'log.open', server: string): Promise<void> => {
    const done = await tryRequest(name, { server });
    if ('code' in done) showError(done);
    else if (!done.ok) showError(refused(done.message));
  };

  const run = async (command: Command): Promise<CommandResult> => {
    const answer = await tryRequest('command.run', command);
    return 'code' in answer ? { ok: false, failure: answer, results: [] } : answer;
  };

  /** Runs a command that has no dialog to show its failure in. */
  const runFromWindow = async (command: Command): Promise<void> => {
    showError(null);
    const result = await run(command);
    if (!result.ok) showError(result.failure);
  };

  const copy = async (text: string): Promise<void> => {
    const done = await tryRequest('text.copy', { text: text.slice(0, 10_000) });
    if ('code' in done) showError(done);
    else if (!done.ok) showError(refused(done.message));
  };

  /** What was asked of ended servers and is not answered yet. */
  const asked = new Set<string>();
  const ofEnded = async (command: 'start-again' | 'forget', { nonce }: Ended): Promise<void> => {
    if (asked.has(nonce)) return;
    asked.add(nonce);
    await runFromWindow({ command, nonce });
    asked.delete(nonce);
  };

  const readInfo = (): void =>
    void tryRequest('app.info', null).then((info) => {
      if ('code' in info) showError(info);
      else store.setState({ info });
    });

  const hostOf = (row: { readonly host: string }): HostEntry | undefined =>
    store.getState().roll?.hosts.find(({ name }) => name === row.host);

  return {
    ...sessionActions({
      store,
      runFromWindow: (command) => void runFromWindow(command),
      ask,
      showError,
      copy: (text) => void copy(text),
      openUrl: (server) => void order('url.open', server),
      exportTimeline: (choice) => tryRequest('timeline.export', choice),
    }),
    ...hostActions({ store, run, ask, showError, copy: (text) => void copy(text) }),
    run,
    readInfo,
    async answer(id, answer) {
      const done = await tryRequest('question.answer', { id, answer });
      if ('code' in done) return done;
      return done.ok ? null : refused(done.message);
    },
    plan: (targets) => tryRequest('plan.get', { targets: targets === 'leaked' ? 'leaked' : [...targets] }),
    async readLog(server) {
      const answer = await tryRequest('log.read', { server });
      if (!('code' in answer)) return answer;
      showError(answer);
      return null;
    },
    openLog: (server) => void order('log.open', server),
    startAgain: (ended) => void ofEnded('start-again', ended),
    forget: (ended) => void ofEnded('forget', ended),
    async chooseFolder(start) {
      const answer = await tryRequest('folder.choose', { start });
      if (!('code' in answer)) return answer.path;
      showError(answer);
      return null;
    },
    copy: (text) => void copy(text),
    openConfig() {
      void tryRequest('config.open', null).then((done) => {
        if ('code' in done) showError(done);
        else if (!done.ok) showError(refused(done.message));
      });
    },
    look: () => void runFromWindow({ command: 'look' }),
    dismiss: (task) => void runFromWindow({ command: 'dismiss', task }),
    startGuard: () => void runFromWindow({ command: 'start-guard' }),
    keepRunning: (server, keepRunning) => void runFromWindow({ command: 'keep-running', server, keepRunning }),
    reapLeaked() {
      const { roll } = store.getState();
      if (roll === null) return;
      if (roll.settings.reapAsk === 'always') return ask({ type: 'plan' });
      void runFromWindow({ command: 'reap', targets: 'leaked', confirmed: false, force: false });
    },
    openServer(server, act) {
      showError(null);
      const host = hostOf(server);
      const away = actRefusal(host);
      const noUrl = urlRefusal(server, host);
      const unless = (permission: Server['reap'], dialog: Dialog): void => {
        const why = away ?? (permission.allowed === 'no' ? permission.why : null);
        if (why === null) ask(dialog);
        else showError(refused(why));
      };
      switch (act) {
        case 'reap':
          return unless(server.reap, {
            type: 'reap',
            id: server.id,
            label: rowName(server),
            why: against(server.reap),
          });
        case 'stop':
        case 'restart':
          return unless(server[act], { type: 'end', act, server });
        case 'open':
          return noUrl === null ? void order('url.open', server.id) : showError(refused(noUrl));
        case 'copy-url':
          return noUrl === null ? void order('url.copy', server.id) : showError(refused(noUrl));
        case 'open-log':
          return void order('log.open', server.id);
        case 'copy-pid':
          return void copy(String(server.pid));
        case 'copy-command':
          return void copy(server.command.join(' '));
        case 'show-sessions':
          return store.setState({ ...narrowedTo(store.getState(), server), view: 'sessions' });
        case 'show-timeline':
          return store.setState({ ...narrowedTo(store.getState(), server), view: 'timeline' });
      }
    },
    openLeftover(leftover, act) {
      showError(null);
      if (act === 'copy-pid') return void copy(String(leftover.pid));
      if (act === 'copy-command') return void copy(leftover.command);
      if (act !== 'reap') return;
      const away = actRefusal(hostOf(leftover));
      if (away !== null) showError(refused(away));
      else if (leftover.reap.allowed === 'no') showError(refused(leftover.reap.why));
      else ask({ type: 'reap', id: leftover.id, label: leftoverName(leftover), why: against(leftover.reap) });
    },
    askClear(records) {
      const first = records[0];
      if (first === undefined) return;
      const clearable = records.filter((record) => record.clearable);
      if (clearable.length > 0) ask({ type: 'clear', records: clearable });
      else showError(refused(first.keptBecause ?? 'This record is kept: it is not Rollcall’s to move.'));
    },
    show(view) {
      store.setState({ view, scope: null, problem: null });
      // A tray may have come or gone, and with it what closing the window does.
      if (view === 'settings') readInfo();
    },
    ask,
    closeDialog: () => store.setState({ dialog: null }),
    showError,
  };
}
