/** The command about session-end hooks that have failed. */
import { failureText } from './failure.ts';
import { type CommandRun, DONE, FAILED, UsageError } from './io.ts';
import { printable, wrap } from './table.ts';

export const hooks: CommandRun = async ({ io, open }, args) => {
  const retry = args.has('retry');
  const forget = args.has('forget');
  if (retry && forget) {
    throw new UsageError(
      '--retry and --forget do not go together.',
      'Failed hooks are either run once more or given up.',
    );
  }
  const json = args.has('json');
  const acts = retry || forget;
  const handle = await open(acts ? 'act' : 'read');
  try {
    if (acts) {
      const result = await handle.core.run({ command: retry ? 'retry-hooks' : 'forget-hooks' }, 'cli');
      const message = result.ok ? result.message : failureText(result.failure);
      if (!result.ok) io.say(message);
      if (json) await io.out(`${JSON.stringify({ ok: result.ok, message }, null, 2)}\n`);
      else if (result.ok) await io.out(`${printable(message)}\n`);
      return result.ok ? DONE : FAILED;
    }
    const { takenAt, alerts, settings } = handle.core.roll;
    const alert = alerts.find(({ id }) => id === 'hooks') ?? null;
    if (json) {
      const failed = alert === null ? null : { title: alert.title, detail: alert.detail };
      await io.out(`${JSON.stringify({ version: 1, takenAt, configured: settings.hooks, failed }, null, 2)}\n`);
    } else if (alert === null) {
      const has = settings.hooks === 0 ? 'none is' : `${settings.hooks} ${settings.hooks === 1 ? 'is' : 'are'}`;
      await io.out(`No session-end hook has failed; ${has} configured.\n`);
    } else {
      const what = 'rollcall hooks --retry runs what has failed once more, rollcall hooks --forget gives it up.';
      const lines = [`${alert.title}. ${alert.detail}`, what].flatMap((text) => wrap(printable(text), io.columns()));
      await io.out(`${lines.join('\n')}\n`);
    }
    return DONE;
  } finally {
    await handle.close();
  }
};
