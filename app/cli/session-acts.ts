/** The commands that interrupt one session, and that end it. */
import type { Command } from '../roll/commands.ts';
import type { Roll, Session } from '../roll/schema.ts';
import { hooksSentence } from '../text/session-words.ts';
import { confirm } from './confirm.ts';
import { failureText } from './failure.ts';
import { type CommandRun, type CoreHandle, DONE } from './io.ts';
import { refuse } from './refuse.ts';
import { checkSession, findSession, sessionLabel } from './session-target.ts';
import { printable } from './table.ts';
import { hostOption, reach, rollOfHost } from './where.ts';

/** How long a session of which nothing was heard yet is waited for, in milliseconds. */
const HEAR_MS = 2000;

interface Act {
  /** What the question calls it: `Interrupt`. */
  readonly word: string;
  /** What a refusal says was not done: `interrupted`. */
  readonly undone: string;
  readonly permission: 'abort' | 'end';
  /** What follows from it, beside what the permission says. */
  consequence(roll: Roll): string;
  command(session: Session, force: boolean): Command;
}

function commandFor(act: Act): CommandRun {
  return async ({ io, open }, args) => {
    const word = args.positionals[0] ?? '';
    checkSession(word);
    const json = args.has('json');
    const force = args.has('force');
    const host = hostOption(args);
    const handle = await open('act', { hears: true });
    try {
      const nothing = `Nothing was ${act.undone}.`;
      const problem = await reach(handle.core, host);
      if (problem !== null) return await refuse(io, json, `${nothing} ${problem}`);
      const target = findSession(shownRoll(handle, host).sessions, word);
      if (target.found === 'nothing') return await refuse(io, json, `${nothing} ${target.text}`);
      const session = await heard(handle, target.session);
      const label = sessionLabel(session);
      const permission = session[act.permission];
      if (permission.allowed === 'no') {
        return await refuse(io, json, `${label} was not ${act.undone}. ${permission.why}`);
      }
      if (permission.allowed === 'force' && !force) {
        const deed = act.word.toLowerCase();
        return await refuse(
          io,
          json,
          `${label} was not ${act.undone}. ${permission.why} Add --force to ${deed} it anyway.`,
        );
      }
      if (permission.allowed !== 'yes') {
        const why = `${permission.why}${act.consequence(handle.core.roll)}`;
        const question = `${why}\n${act.word} ${label.replace('Session', 'session')} on ${session.carrier}?`;
        const answer = await confirm(io, args.has('yes'), printableLines(question));
        if (answer === 'no') return await refuse(io, json, nothing);
        if (answer === 'cannot-ask') {
          const deed = act.word.toLowerCase();
          return await refuse(
            io,
            json,
            `${label} was not ${act.undone}. ${why} Add --yes to ${deed} it without being asked.`,
          );
        }
      }
      const result = await handle.core.run(act.command(session, force), 'cli');
      if (!result.ok) return await refuse(io, json, failureText(result.failure));
      const { key, id } = session;
      const answer = { ok: true, message: result.message, session: { key, id } };
      await io.out(json ? `${JSON.stringify(answer, null, 2)}\n` : `${printable(result.message)}\n`);
      return DONE;
    } finally {
      await handle.close();
    }
  };
}

function shownRoll(handle: CoreHandle, host: string | null): Roll {
  const { roll } = handle.core;
  return host === null ? roll : rollOfHost(roll, host);
}

/** A core of one's own has only just begun to hear: a server tells at once which sessions it has, not what they do. */
async function heard(handle: CoreHandle, session: Session): Promise<Session> {
  const now = (): Session => handle.core.roll.sessions.find(({ key }) => key === session.key) ?? session;
  if (handle.origin === 'app' || now().state !== 'unknown') return now();
  await new Promise<void>((done) => {
    const timer = setTimeout(finish, HEAR_MS);
    const unsubscribe = handle.core.subscribe(() => {
      if (now().state !== 'unknown') finish();
    });
    function finish(): void {
      clearTimeout(timer);
      unsubscribe();
      done();
    }
  });
  return now();
}

function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

export const abort: CommandRun = commandFor({
  word: 'Interrupt',
  undone: 'interrupted',
  permission: 'abort',
  consequence: () => '',
  command: ({ key }) => ({ command: 'abort-session', session: key }),
});

export const end: CommandRun = commandFor({
  word: 'End',
  undone: 'ended',
  permission: 'end',
  consequence: ({ settings }) => (settings.hooks === 0 ? '' : ` ${hooksSentence(1, settings.hooks)}.`),
  command: ({ key }, force) => ({ command: 'end-session', session: key, force }),
});
