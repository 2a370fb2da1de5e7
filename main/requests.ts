/** What each request of the window does. */

import { existsSync } from 'node:fs';
import { NoAudit } from '../app/audit/audit.ts';
import type { Paths } from '../app/config/paths.ts';
import type { LocalCore } from '../app/supervisor/core.ts';
import { WriteFailed } from '../app/util/atomic-write.ts';
import { messageOf } from '../app/util/errors.ts';
import type { Handlers } from './ipc.ts';
import { logElsewhere } from './log-elsewhere.ts';
import { copyServerUrl, copyText, openFile, openServerUrl } from './open.ts';
import { quitLabel } from './quit-words.ts';
import { exportName, exportTimeline } from './timeline-export.ts';

export interface RequestDeps {
  readonly core: LocalCore;
  readonly paths: Paths;
  readonly version: string;
  readonly home: string;
  hasTray(): boolean;
  /** The system's folder chooser; null when the person cancelled. */
  chooseFolder(start: string | null): Promise<string | null>;
  /** The system's dialog for saving a file of that name; null when the person cancelled. */
  chooseFile(name: string): Promise<string | null>;
  quit(): void;
}

export function requestHandlers(parts: RequestDeps): Handlers {
  const { core, paths } = parts;
  return {
    'roll.get': () => core.roll,
    'command.run': (command) => core.run(command, 'window'),
    'plan.get': ({ targets }) => core.plan(targets),
    'log.read': async ({ server }) => {
      const { path, text, truncated } = await core.readLog(server);
      return { path, text, truncated };
    },
    'log.open': async ({ server }) => {
      const elsewhere = logElsewhere(core.roll, server);
      if (elsewhere !== null) return { ok: false, message: elsewhere };
      return openFile((await core.readLog(server)).path, 'log');
    },
    'url.open': ({ server }) => openServerUrl(core.roll, server),
    'url.copy': ({ server }) => copyServerUrl(core.roll, server),
    'text.copy': ({ text }) => copyText(text),
    'folder.choose': async ({ start }) => ({
      path: await parts.chooseFolder(start !== null && existsSync(start) ? start : null),
    }),
    'timeline.export': async (choice) => {
      const path = await parts.chooseFile(exportName(Date.now()));
      if (path === null) return { ok: true, path, entries: 0 };
      const { auditFile } = paths;
      try {
        const entries = await exportTimeline(path, choice, { auditFile, version: parts.version, now: Date.now() });
        return { ok: true, path, entries };
      } catch (error) {
        if (error instanceof WriteFailed || error instanceof NoAudit) return { ok: false, message: error.message };
        return { ok: false, message: `The audit ${auditFile} could not be read: ${messageOf(error)}` };
      }
    },
    'config.open': () => openFile(core.roll.settings.configPath, 'configuration file'),
    'app.info': () => ({
      version: parts.version,
      platform: process.platform,
      home: parts.home,
      hasTray: parts.hasTray(),
      quitLabel: quitLabel(core.roll),
      dataFolders: [
        { label: 'Configuration', path: paths.configDir },
        { label: 'Records', path: paths.recordsDir },
        { label: 'Audit', path: paths.auditFile },
        { label: 'Logs', path: paths.logsDir },
        { label: 'Set aside', path: paths.setAsideDir },
      ],
    }),
    'question.answer': ({ id, answer }) =>
      core.answer(id, answer)
        ? { ok: true }
        : { ok: false, message: 'Nobody waits for this answer any more: the question was given up.' },
    'app.quit': () => {
      // After the answer has left, or the window would see its request fail.
      setImmediate(() => parts.quit());
      return { ok: true };
    },
  };
}
