/** What a person asks of sessions and of what watches them: idle times, session-end hooks, the timeline's export. */
import type { RequestResult } from '../../app/roll/channels.ts';
import type { Command, Failure } from '../../app/roll/commands.ts';
import type { Session } from '../../app/roll/schema.ts';
import { actRefusal } from '../../app/text/host-words.ts';
import { sessionName, shellCommand } from '../../app/text/session-words.ts';
import type { TimelineChoice } from '../../app/text/timeline-words.ts';
import { openRefusal, type SessionAct } from '../view/sessionActs.ts';
import { refused } from './failures.ts';
import { type Dialog, revealServer, type WindowStore } from './store.ts';

export interface SessionActions {
  openSession(session: Session, act: SessionAct): void;
  /** Shows the row of a server, whatever was filtered. */
  showServer(id: string): void;
  /** Stops a server after so many idle minutes; null: never. */
  setIdle(server: string, minutes: number | null): void;
  /** It was announced to be stopped: its idle time begins anew. */
  keepAwake(server: string): void;
  retryHooks(): void;
  forgetHooks(): void;
  /** Saves what is chosen as a file. Null where it failed, which was told, or was cancelled. */
  exportTimeline(choice: TimelineChoice): Promise<{ readonly path: string; readonly entries: number } | null>;
}

interface Parts {
  readonly store: WindowStore;
  runFromWindow(command: Command): void;
  ask(dialog: Dialog): void;
  showError(failure: Failure | null): void;
  copy(text: string): void;
  openUrl(server: string): void;
  exportTimeline(choice: TimelineChoice): Promise<RequestResult<'timeline.export'> | Failure>;
}

export function sessionActions(parts: Parts): SessionActions {
  const { store, runFromWindow, ask, showError, copy } = parts;
  const showServer = (id: string): void => revealServer(store, id);

  const interrupt = (session: Session, act: 'abort' | 'end'): void => {
    const { roll } = store.getState();
    const away = actRefusal(roll?.hosts.find(({ name }) => name === session.host));
    const permission = session[act];
    if (permission.allowed === 'no') showError(refused(permission.why));
    else if (away !== null) showError(refused(away));
    // An end is always asked for: it cannot be taken back.
    else if (act === 'end' || permission.allowed !== 'yes') ask({ type: 'session', act, session });
    else runFromWindow({ command: 'abort-session', session: session.key });
  };

  const openInBrowser = (session: Session): void => {
    const { roll } = store.getState();
    const server = roll?.servers.find(({ id }) => id === session.server) ?? null;
    const host = roll?.hosts.find(({ name }) => name === session.host);
    const why = openRefusal(session, server, host);
    if (why !== null) showError(refused(why));
    else if (server !== null) parts.openUrl(server.id);
  };

  const openSession = (session: Session, act: SessionAct): void => {
    showError(null);
    switch (act) {
      case 'open':
        openInBrowser(session);
        break;
      case 'copy-attach':
        if (session.attach !== null) copy(shellCommand(session.attach));
        break;
      case 'abort':
      case 'end':
        interrupt(session, act);
        break;
      case 'show-server':
        if (session.server !== null) showServer(session.server);
        break;
      case 'show-timeline': {
        const { host } = store.getState();
        store.setState({
          view: 'timeline',
          filter: '',
          scope: { type: 'session', id: session.key, name: sessionName(session) },
          host: host === session.host ? host : null,
        });
        break;
      }
      case 'copy-id':
        copy(session.id);
        break;
      case 'copy-directory':
        if (session.directory !== null) copy(session.directory);
        break;
    }
  };

  return {
    openSession,
    showServer,
    setIdle: (server, minutes) => runFromWindow({ command: 'set-idle', server, minutes }),
    keepAwake: (server) => runFromWindow({ command: 'keep-awake', server }),
    retryHooks: () => runFromWindow({ command: 'retry-hooks' }),
    forgetHooks: () => runFromWindow({ command: 'forget-hooks' }),
    async exportTimeline(choice) {
      showError(null);
      const answer = await parts.exportTimeline({ ...choice, filter: choice.filter.slice(0, 1000) });
      if ('code' in answer) showError(answer);
      else if (!answer.ok) showError(refused(answer.message));
      else if (answer.path !== null) return { path: answer.path, entries: answer.entries };
      return null;
    },
  };
}
