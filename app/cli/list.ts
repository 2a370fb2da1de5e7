import type { Roll } from '../roll/schema.ts';
import { THIS_MACHINE } from '../text/host-words.ts';
import { type CommandRun, type Context, type CoreHandle, DONE, FAILED, type Io } from './io.ts';
import { listJson } from './list-json.ts';
import { renderRoll, rollFingerprint } from './render-roll.ts';
import { hostOption, knownAs, reach, rollOfHost } from './where.ts';

const EVERY_MS = 2000;

export const list: CommandRun = async (context, args) => {
  const json = args.has('json');
  const host = hostOption(args);
  if (args.has('watch')) return watch(context, json, host);
  const handle = await context.open('read');
  try {
    // The app's roll may be some seconds old; a core of our own has just looked.
    const problem = await reach(handle.core, host);
    if (handle.origin === 'app' && (host === null || host === THIS_MACHINE)) {
      await handle.core.run({ command: 'look' }, 'cli');
    }
    if (problem !== null) context.io.say(problem);
    await context.io.out(text(handle, context.io, { json, host, indent: 0 }));
    return problem === null ? DONE : FAILED;
  } finally {
    await handle.close();
  }
};

interface TextOptions {
  readonly json: boolean;
  /** Only this one's rows; null for all. */
  readonly host: string | null;
  readonly indent: number;
}

function text(handle: CoreHandle, io: Io, { json, host, indent }: TextOptions): string {
  const roll = shownRoll(handle, host);
  if (json) return `${JSON.stringify(listJson(roll), null, indent === 0 ? 2 : 0)}\n`;
  return renderRoll(roll, { width: io.columns(), colour: io.colour, home: io.home, now: Date.now() });
}

/** Until Ctrl-C or until nobody reads. On a terminal it redraws; elsewhere it prints when something changed. */
async function watch({ io, open }: Context, json: boolean, host: string | null): Promise<typeof DONE> {
  let handle = await open('read');
  const first = await reach(handle.core, host);
  if (first !== null) io.say(first);
  let gone = followLoss(handle);
  let printed = '';
  if (io.outIsTerminal && !json) await io.out('\u001b[2J');
  try {
    while (!io.ended.aborted) {
      if (gone.current) {
        // The app was quit or has crashed: go on with whatever is in charge now.
        await handle.close();
        handle = await open('read');
        gone = followLoss(handle);
      }
      if (handle.origin === 'local')
        await handle.core.run(
          {
            command: 'look',
            ...(host === null || host === THIS_MACHINE ? {} : { host: knownAs(handle.core.roll, host) }),
          },
          'cli',
        );
      if (io.outIsTerminal && !json) {
        // Home, then each line cleared to its end, then the rest below: no flicker of an empty screen.
        const lines = text(handle, io, { json: false, host, indent: 0 }).replaceAll('\n', '\u001b[K\n');
        await io.out(`\u001b[H${lines}\u001b[J`);
      } else {
        const now = rollFingerprint(shownRoll(handle, host));
        if (now !== printed)
          await io.out(`${printed === '' || json ? '' : '\n'}${text(handle, io, { json, host, indent: 1 })}`);
        printed = now;
      }
      await pause(io.ended);
    }
  } finally {
    await handle.close();
  }
  return DONE;
}

function shownRoll(handle: CoreHandle, host: string | null): Roll {
  const { roll } = handle.core;
  return host === null ? roll : rollOfHost(roll, host);
}

function followLoss(handle: CoreHandle): { current: boolean } {
  const gone = { current: false };
  void handle.lost.then(() => {
    gone.current = true;
  });
  return gone;
}

function pause(ended: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (ended.aborted) return done();
    const finish = () => {
      clearTimeout(timer);
      ended.removeEventListener('abort', finish);
      done();
    };
    const timer = setTimeout(finish, EVERY_MS);
    ended.addEventListener('abort', finish);
  });
}
