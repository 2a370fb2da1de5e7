/** The commands about hosts themselves: which there are, how they are connected and left. */

import type { Roll } from '../roll/schema.ts';
import { hostNamed, questionSentence, sharedSentence, stepWords, stoppedByDisconnect } from '../text/host-words.ts';
import { formatBytes, plural, serverLabel, totalMemory } from '../text/words.ts';
import { confirm } from './confirm.ts';
import { failureText } from './failure.ts';
import { type CommandRun, type CoreHandle, DONE, FAILED, type Io } from './io.ts';
import { refuse } from './refuse.ts';
import { hostsJson, renderHosts } from './render-hosts.ts';
import { printable } from './table.ts';
import { hostWord, knownAs, reach, rowHost } from './where.ts';

export const hosts: CommandRun = async ({ io, open }, args) => {
  const handle = await open('read');
  try {
    const { roll } = handle.core;
    if (args.has('json')) {
      await io.out(`${JSON.stringify({ version: 1, takenAt: roll.takenAt, hosts: hostsJson(roll) }, null, 2)}\n`);
    } else await io.out(renderHosts(roll, { width: io.columns(), now: Date.now() }));
    return DONE;
  } finally {
    await handle.close();
  }
};

/** Says each step once, as it is done, and what is asked in the window meanwhile. Returns the end of it. */
function followSteps(handle: CoreHandle, name: string, io: Io): () => void {
  const said = new Set<string>();
  return handle.core.subscribe((roll) => {
    const host = hostNamed(roll, name);
    for (const question of roll.questions) {
      if (question.host !== host?.name || said.has(question.id)) continue;
      said.add(question.id);
      io.say(printable(`${questionSentence(question)}. The Rollcall window asks for it.`));
    }
    // The steps of an attempt before this one are no news.
    if (host?.ssh == null || host.state === 'connected') return;
    for (const { step, state, detail } of host.ssh.steps) {
      if (state !== 'done' || said.has(step)) continue;
      said.add(step);
      io.say(printable(`${stepWords(step)}${detail === null ? '' : `: ${detail}`}`));
    }
  });
}

export const connect: CommandRun = async ({ io, open }, args) => {
  const name = hostWord(args.positionals[0] ?? '');
  const json = args.has('json');
  const handle = await open('act');
  try {
    const stop = json ? () => undefined : followSteps(handle, name, io);
    const result = await handle.core.run({ command: 'connect', host: knownAs(handle.core.roll, name) }, 'cli');
    stop();
    const entry = hostNamed(handle.core.roll, name);
    const host = entry === null ? null : (hostsJson({ ...handle.core.roll, hosts: [entry] })[0] ?? null);
    if (!result.ok) {
      io.say(failureText(result.failure));
      if (json) await io.out(`${JSON.stringify({ ok: false, failure: result.failure, host }, null, 2)}\n`);
      return FAILED;
    }
    if (json) await io.out(`${JSON.stringify({ ok: true, message: result.message, host }, null, 2)}\n`);
    else {
      await io.out(`${printable(result.message)}\n`);
      const shared = entry === null ? null : sharedSentence(entry);
      if (shared !== null) await io.out(`${printable(shared)}\n`);
    }
    if (handle.origin === 'local') {
      io.say('The connection ends with this command: only the Rollcall app keeps connections, and it does not run.');
    }
    return DONE;
  } finally {
    await handle.close();
  }
};

/** The question before servers on a host are stopped: each by name, and what is interrupted. */
export function stopQuestion(host: string, servers: Roll['servers']): string {
  const busy = servers.filter((server) => server.busy === 'busy').length;
  const rows = servers.map((server) => {
    const remark = server.busy === 'busy' ? ', busy' : '';
    return printable(`  ${serverLabel(server)}, PID ${server.pid}, ${formatBytes(server.memoryBytes).text}${remark}`);
  });
  const things = plural(servers.length, 'server');
  return [
    ...rows,
    `${formatBytes(totalMemory(servers)).text} freed, ${busy} busy`,
    `Disconnect ${printable(host)} and stop ${things}?`,
  ].join('\n');
}

export const disconnect: CommandRun = async ({ io, open }, args) => {
  const name = hostWord(args.positionals[0] ?? '');
  const json = args.has('json');
  const stops = args.has('stop');
  const handle = await open('act');
  try {
    if (handle.origin === 'local' && !stops) {
      const why = 'only the Rollcall app keeps connections, and it does not run';
      return await refuse(io, json, `${name} was not disconnected: ${why}. Nothing is connected.`);
    }
    if (stops) {
      const problem = await reach(handle.core, name);
      if (problem !== null) return await refuse(io, json, `Nothing was stopped on ${name}. ${problem}`);
      const { roll } = handle.core;
      const servers = stoppedByDisconnect(roll, rowHost(roll, name));
      const answer = servers.length === 0 ? 'yes' : await confirm(io, args.has('yes'), stopQuestion(name, servers));
      if (answer === 'no') return await refuse(io, json, `Nothing was stopped, and ${name} stays connected.`);
      if (answer === 'cannot-ask') {
        const things = plural(servers.length, 'server');
        return await refuse(
          io,
          json,
          `Nothing was stopped: this stops ${things} on ${name}. Add --yes to agree to it.`,
        );
      }
    }
    const known = knownAs(handle.core.roll, name);
    const result = await handle.core.run({ command: 'disconnect', host: known, stopServers: stops }, 'cli');
    if (!result.ok) return await refuse(io, json, failureText(result.failure));
    if (json) {
      await io.out(`${JSON.stringify({ ok: true, message: result.message, results: result.results }, null, 2)}\n`);
    } else await io.out(`${printable(result.message)}\n`);
    return DONE;
  } finally {
    await handle.close();
  }
};
