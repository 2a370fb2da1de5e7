/** Opens the supervisor of this process: settings, host, records and audit, wired into one `LocalCore`. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { removeStaleTemporaries } from '../config/atomic-write.ts';
import { ensurePrivateFolder } from '../config/folders.ts';
import type { Paths } from '../config/paths.ts';
import type { WriterLock } from '../control/writer-lock.ts';
import { createLocalHost } from '../hosts/local/local-host.ts';
import { workerLooker } from '../hosts/local/look-client.ts';
import type { Looker } from '../hosts/local/looker.ts';
import type { ServerRecord } from '../records/schema.ts';
import { LocalRecords } from '../records/store.ts';
import { Audit } from './audit.ts';
import type { LocalCore } from './core.ts';
import type { GuardPort } from './guard-port.ts';
import { Memory } from './memory.ts';
import { openSettings } from './settings.ts';
import { Supervisor } from './supervisor.ts';

/** How a supervisor is used. */
export type Mode =
  /** The app: looks all the time, watches owners, keeps a memory of them. */
  | 'app'
  /** The guard after the app has gone: looks and watches owners as the app does; ends and restarts nothing by itself. */
  | 'guard'
  /** One command that acts, under the writer's lock. */
  | 'act'
  /** One command that only shows. Changes nothing on disk. */
  | 'read';

export interface OpenLocalCore {
  readonly paths: Paths;
  /** The writer's lock; released by `close`. Null only for reading. */
  readonly lock: WriterLock | null;
  /** `app` when left out. */
  readonly mode?: Mode;
  /** Keeps a guard beside this process; only in `app` mode. */
  readonly guard?: GuardPort;
  /** Records as the app last had them; one that the disk has lost is written again if its process is still the one. */
  readonly handed?: readonly ServerRecord[];
  /** Takes the looks; the bundled worker when left out. */
  readonly looker?: Looker;
  /** Environment that servers inherit; the process's own when left out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** The bundled worker beside this bundle. */
function bundledLooker(): Looker {
  return workerLooker({ workerUrl: new URL('./look-worker.js', import.meta.url) });
}

/** `opencode` among a checkout's development dependencies, so that a first start has something real to run. */
function developmentBin(): string | null {
  const checkout = fileURLToPath(new URL('..', import.meta.url));
  const bin = join(checkout, 'node_modules', '.bin', 'opencode');
  return existsSync(join(checkout, 'electron-builder.yml')) && existsSync(bin) ? bin : null;
}

function readMemory(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // Absent on the first run; unreadable only costs explanations ("its owner was …").
    return null;
  }
}

/**
 * Opens the supervisor. The first look has been judged when it resolves; in `app` mode later ones follow by
 * themselves.
 *
 * @throws when the state folder cannot be made ours, or this machine cannot be told from others
 */
export async function openLocalCore(options: OpenLocalCore): Promise<LocalCore> {
  const { paths, lock } = options;
  const mode = options.mode ?? 'app';
  const writes = mode !== 'read';
  if (writes) {
    for (const folder of [paths.stateDir, paths.recordsDir, paths.logsDir, paths.setAsideDir])
      ensurePrivateFolder(folder);
    for (const folder of [paths.stateDir, paths.recordsDir]) removeStaleTemporaries(folder);
  }
  const settings = openSettings(paths.configFile, {
    developmentBin: developmentBin(),
    follow: mode === 'app' || mode === 'guard',
  });
  const host = await createLocalHost({ looker: options.looker ?? bundledLooker(), stateDir: paths.stateDir });
  const supervisor = new Supervisor({
    mode,
    paths,
    lock,
    host,
    settings,
    store: new LocalRecords(paths.recordsDir, paths.setAsideDir),
    audit: new Audit(paths.auditFile),
    memory: new Memory(readMemory(paths.seenFile), performance.now()),
    env: options.env ?? process.env,
    uid: process.getuid?.() ?? null,
    self: mode === 'guard' ? 'guard' : 'app',
    guard: options.guard ?? null,
    handed: options.handed ?? [],
  });
  await supervisor.open();
  return supervisor;
}
