/** A supervisor with folders of its own, looking at the real machine; everything it started ends with it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Paths, resolvePaths } from '../../config/paths.ts';
import { openLocalCore } from '../../core/local-core.ts';
import { inlineLooker, type Looker } from '../../hosts/local/look/looker.ts';
import type { Leftover, Roll, Server } from '../../roll/schema.ts';
import { recognise } from '../../servers/recognition/recognise.ts';
import type { LocalCore, Mode } from '../core.ts';
import { SPANS, type Spans } from '../spans.ts';

export interface World {
  readonly root: string;
  readonly paths: Paths;
  readonly core: LocalCore;
  /** Closes the core and opens another on the same folders, as a restart of the app would. */
  restart(config?: unknown): Promise<World>;
  server(pid: number): Server | undefined;
  leftover(pid: number): Leftover | undefined;
  /** Resolves with the first roll that passes; rejects with what was there when the time is up. */
  until(what: string, test: (roll: Roll) => boolean, timeoutMs?: number): Promise<Roll>;
  /** Takes that many looks, each judged and acted on: what would have happened by then has. */
  looks(count: number): Promise<void>;
  dispose(): Promise<void>;
}

export interface WorldOptions {
  readonly root?: string;
  readonly mode?: Mode;
  readonly config?: unknown;
  readonly env?: Readonly<Record<string, string>>;
  readonly looker?: Looker;
  readonly idleAnnouncedMs?: number;
  readonly spans?: Partial<Spans>;
}

/** As the product's, only sooner: long enough for what a stream tells at once to have come before silence counts. */
const SHORT: Spans = { ...SPANS, silenceMs: 1000, cpuWindowMs: 1000, healthEveryMs: 1000 };

/** Nothing of whoever runs the tests is seen: neither their profile nor the sessions of their tools. */
const nobodys = (root: string) => ({ HOME: root, CLAUDE_CONFIG_DIR: undefined, XDG_CACHE_HOME: undefined });

export async function openWorld(options: WorldOptions = {}): Promise<World> {
  const root = options.root ?? mkdtempSync(join(tmpdir(), 'rollcall-world-'));
  const paths = resolvePaths({
    env: {
      ROLLCALL_CONFIG_DIR: join(root, 'config'),
      ROLLCALL_STATE_DIR: join(root, 'state'),
      XDG_RUNTIME_DIR: join(root, 'run'),
    },
    platform: process.platform,
    uid: process.getuid?.() ?? null,
    home: root,
  });
  mkdirSync(paths.configDir, { recursive: true, mode: 0o700 });
  const config = options.config ?? { leak: { graceSeconds: 0 }, look: { intervalSeconds: 0.5 } };
  writeFileSync(paths.configFile, JSON.stringify(config), { mode: 0o600 });
  const mode = options.mode ?? 'app';
  const core = await openLocalCore({
    paths,
    lock: null,
    mode,
    looker: options.looker ?? inlineLooker(recognise),
    home: root,
    env: { ...process.env, ...nobodys(root), ...options.env },
    spans: { ...SHORT, ...options.spans },
    ...(options.idleAnnouncedMs === undefined ? {} : { idleAnnouncedMs: options.idleAnnouncedMs }),
  });
  return {
    root,
    paths,
    core,
    restart: async (config) => {
      await core.close(false, 1000);
      return openWorld({ ...options, ...(config === undefined ? {} : { config }), root });
    },
    server: (pid) => core.roll.servers.find((server) => server.pids.includes(pid)),
    leftover: (pid) => core.roll.leftovers.find((leftover) => leftover.pid === pid),
    looks: async (count) => {
      for (let taken = 0; taken < count; taken += 1) await core.run({ command: 'look' }, 'app');
    },
    until: (what, test, timeoutMs = 60_000) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          stop();
          const seen = core.roll.servers.map(
            ({ pid, standing, reasons }) => `${pid} ${standing}: ${reasons.join('; ')}`,
          );
          reject(new Error(`not within ${timeoutMs} ms: ${what}\n${seen.join('\n')}`));
        }, timeoutMs);
        const check = (roll: Roll): void => {
          if (!test(roll)) return;
          clearTimeout(timer);
          stop();
          resolve(roll);
        };
        const stop = core.subscribe(check);
        check(core.roll);
      }),
    dispose: async () => {
      await core.close(true, 10_000);
      rmSync(root, { recursive: true, force: true });
    },
  };
}
