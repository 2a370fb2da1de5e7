/** Opens the supervisor of this process: settings, host, records and audit, wired into one `LocalCore`. */
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AuditFile } from '../audit/audit.ts';
import type { Paths } from '../config/paths.ts';
import type { Host } from '../hosts/host.ts';
import { createLocalHost } from '../hosts/local/local-host.ts';
import { workerLooker } from '../hosts/local/look/look-client.ts';
import type { Looker } from '../hosts/local/look/looker.ts';
import { refOf } from '../hosts/process-info.ts';
import type { ProcessRef } from '../identity/identity.ts';
import type { ServerRecord } from '../records/schema.ts';
import { LocalRecords } from '../records/store.ts';
import { localFinder } from '../servers/start/programs.ts';
import { ForeignSessions } from '../sessions/foreign/watcher.ts';
import { failuresIn } from '../sessions/hooks/hooks.ts';
import { viewLedger } from '../sessions/store/ledger-view.ts';
import type { LocalCore, Mode } from '../supervisor/core.ts';
import { ActFailed } from '../supervisor/failure.ts';
import type { GuardPort } from '../supervisor/guard-port.ts';
import { HostManager } from '../supervisor/hosts/host-manager.ts';
import { HostSupervisor } from '../supervisor/hosts/host-supervisor.ts';
import { NO_REMOTE_HOSTS } from '../supervisor/hosts/remote-hosts.ts';
import { programFileOf } from '../supervisor/monitor/outdated.ts';
import { ServerHistory } from '../supervisor/monitor/server-history.ts';
import { failedHooks, SessionPersistence } from '../supervisor/sessions/session-persistence.ts';
import { openSettings } from '../supervisor/settings.ts';
import type { Spans } from '../supervisor/spans.ts';
import { removeStaleTemporaries } from '../util/atomic-write.ts';
import { ensurePrivateFolder } from '../util/folders.ts';
import type { WriterLock } from '../writer/writer-lock.ts';
import { openHosts } from './open-hosts.ts';

/** How long hooks may take at the end of the app, and of a command, in milliseconds. */
const QUIT_HOOKS_MS = 1500;
const ACT_HOOKS_MS = 5000;

export interface OpenLocalCore {
  readonly paths: Paths;
  /** The writer's lock; released by `close`. Null only for reading. */
  readonly lock: WriterLock | null;
  /** For a command that is about sessions: streams of every server are followed, and have told before it is open. */
  readonly hears?: boolean;
  /** `app` when left out. */
  readonly mode?: Mode;
  /** Keeps a guard beside this process; only in `app` mode. */
  readonly guard?: GuardPort;
  /** Records as the app last had them; one that the disk has lost is written again if its process is still the one. */
  readonly handed?: readonly ServerRecord[];
  /** Folder of the bundles, where a person can be asked what ssh asks; absent where nobody can. */
  readonly asksFrom?: string;
  /** Takes the looks; the bundled worker when left out. */
  readonly looker?: Looker;
  /** From the announcement that a server is stopped for being idle to the stop, in milliseconds; a minute when left out. */
  readonly idleAnnouncedMs?: number;
  /** Those of this machine's servers; `SPANS` when left out. */
  readonly spans?: Spans;
  /** Where tools of the person keep their files; the home of this process when left out. */
  readonly home?: string;
  /** Environment that servers inherit; the process's own when left out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** The bundled worker beside this bundle. */
export function bundledLooker(): Looker {
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
  const hears = options.hears ?? false;
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
  const env = options.env ?? process.env;
  const home = options.home ?? homedir();
  const audit = new AuditFile(paths.auditFile);
  const self = mode === 'guard' ? 'guard' : 'app';
  const guard = options.guard ?? null;
  const localObserver = await host.observer();
  const writer = writerOf(host);
  // Filled in below: hooks tell the hostManager of changes, and the hostManager has the hooks.
  let onHooks = (): void => undefined;
  const keeping = writes
    ? new SessionPersistence({
        ledgerFile: paths.sessionsFile,
        folder: paths.hooksDir,
        host,
        audit,
        by: mode === 'act' ? 'cli' : self,
        env,
        home,
        configured: () => settings.config.hooks.sessionEnd,
        onChange: () => onHooks(),
      })
    : null;
  const view = writes ? null : viewLedger(paths.sessionsFile);
  const lives = keeping?.lives ?? view?.lives ?? null;
  const { hostname } = await host.machine();
  const foreign = (onChange: () => void): ForeignSessions =>
    new ForeignSessions({
      env,
      home,
      place: { observer: localObserver, hostname },
      inspect: (pid) => host.inspect(pid),
      onChange,
    });
  const hostManager = new HostManager({
    settings,
    audit,
    paths,
    lock,
    guard,
    keeping,
    sessionAlerts: () =>
      keeping?.alerts() ?? (view === null ? [] : failedHooks(failuresIn(view, settings.config.hooks.sessionEnd))),
    hooksMs: mode === 'act' ? ACT_HOOKS_MS : QUIT_HOOKS_MS,
    local: (onPart) =>
      new HostSupervisor(
        {
          mode,
          hears,
          host,
          settings,
          store: new LocalRecords(paths.recordsDir, paths.setAsideDir),
          audit,
          memory: new ServerHistory(readMemory(paths.seenFile), performance.now()),
          memoryFile: paths.seenFile,
          logsDir: paths.logsDir,
          env,
          finder: localFinder(env),
          programFileOf,
          writer,
          restarts: true,
          self,
          guard,
          handed: options.handed ?? [],
          keeping: lives,
          foreign: mode === 'app' || mode === 'guard' || hears ? foreign : null,
          ...(options.idleAnnouncedMs === undefined ? {} : { idleAnnouncedMs: options.idleAnnouncedMs }),
          ...(options.spans === undefined ? {} : { spans: options.spans }),
          lookEverySeconds: () => settings.config.look.intervalSeconds,
          reachable: () => true,
        },
        onPart,
      ),
    remote: (onChange) =>
      mode === 'guard'
        ? NO_REMOTE_HOSTS
        : openHosts({
            mode,
            hears,
            paths,
            env,
            settings,
            audit,
            host,
            localObserver,
            writer,
            guard,
            asksFrom: options.asksFrom ?? null,
            keeping: lives,
            onChange,
          }),
  });
  onHooks = () => hostManager.hooksChanged();
  await hostManager.open();
  return hostManager;
}

/** This process as records name it; read once. */
function writerOf(host: Host): () => Promise<ProcessRef> {
  let self: ProcessRef | null = null;
  return async () => {
    if (self === null) {
      const info = await host.inspect(process.pid);
      if (info === null)
        throw new ActFailed('no-self', 'Rollcall could not read its own process.', 'Check that /proc is mounted.');
      self = refOf(info);
    }
    return self;
  };
}
