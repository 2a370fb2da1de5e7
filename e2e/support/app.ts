/** Launches the real app in real Electron. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { _electron, type ElectronApplication } from '@playwright/test';
import { build } from 'esbuild';
import { resolvePaths } from '../../app/config/paths.ts';
import { connectControl } from '../../app/control/client.ts';
import type { Roll } from '../../app/roll/schema.ts';
import { eventually, MARK, startMarked } from './processes.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/** Parts of the tests that run beside each other have one each. */
const OPENCODE = join(ROOT, 'node_modules', '.bin', 'opencode');
const FIXTURE_APP = join(ROOT, 'out', process.env['ROLLCALL_E2E_OUT'] ?? 'e2e');

interface Runtime {
  readonly version: string;
  readonly dist: string;
  readonly executable: string;
}

let runtime: Promise<Runtime> | null = null;

/** The Electron that the build chose, resolved once. */
export function electronRuntime(): Promise<Runtime> {
  runtime ??= (async () => {
    // The start scripts are plain JavaScript, so their types are told here.
    const module = (await import('../../build/electron-runtime.mjs' as string)) as {
      resolveElectron(): Promise<Runtime>;
    };
    const found = await module.resolveElectron();
    // Playwright asks the `electron` package where the runtime is, and that reads this variable; workers inherit it.
    process.env['ELECTRON_OVERRIDE_DIST_PATH'] = found.dist;
    return found;
  })();
  return runtime;
}

/** Bundles the app's entry with the fixture core, beside the bundles of the build. */
export async function buildFixtureApp(): Promise<void> {
  mkdirSync(FIXTURE_APP, { recursive: true });
  await build({
    absWorkingDir: ROOT,
    entryPoints: ['e2e/support/fixture-main.ts'],
    outfile: join(FIXTURE_APP, 'main.js'),
    bundle: true,
    loader: { '.sh': 'text', '.py': 'text' },
    platform: 'node',
    target: 'node20',
    format: 'esm',
    mainFields: ['module', 'main'],
    external: ['electron', 'koffi', 'systeminformation'],
    banner: {
      js: "import { createRequire as __r } from 'node:module'; const require = __r(import.meta.url);",
    },
    logLevel: 'warning',
  });
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  writeFileSync(
    join(FIXTURE_APP, 'package.json'),
    JSON.stringify({ name: 'rollcall', productName: 'Rollcall', version, type: 'module', main: 'main.js' }),
  );
}

/** Folders of one test: state, configuration, runtime, home. Short, since a socket's name must be. */
export class Folders {
  readonly root = mkdtempSync(join(tmpdir(), 'rc-'));
  readonly state = this.#make('state');
  readonly config = this.#make('config');
  readonly runtime = this.#make('run');
  readonly home = this.#make('home');

  constructor() {
    this.configure({});
  }

  /** Writes the configuration. Unless it says otherwise, opencode is the checkout's own, whatever this machine has. */
  configure(config: Readonly<Record<string, unknown>>): void {
    const start = { opencode: { path: OPENCODE } };
    writeFileSync(join(this.config, 'config.json'), JSON.stringify({ start, ...config }), { mode: 0o600 });
  }

  #make(name: string): string {
    const path = join(this.root, name);
    mkdirSync(path, { mode: 0o700 });
    return path;
  }

  remove(): void {
    // Chromium's helpers may still be writing for a moment after they were told to end.
    rmSync(this.root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

export interface LaunchOptions {
  readonly folders: Folders;
  /** Ties every process of the app to its test. */
  readonly mark: string;
  /** Address of the private bus; null for none at all. */
  readonly bus: string | null;
  /** Show this roll through the fixture core; absent for the real supervisor. */
  readonly roll?: Roll;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** Folder of the app to run; the checkout, or the fixture app where a roll is given, when left out. */
  readonly appDir?: string;
}

/** Environment and arguments of a launch, for Playwright and for a plain spawn alike. */
export async function launchSpec(options: LaunchOptions): Promise<{ args: string[]; env: Record<string, string> }> {
  const { folders } = options;
  await electronRuntime();
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) if (value !== undefined) env[name] = value;
  Object.assign(env, {
    ROLLCALL_STATE_DIR: folders.state,
    ROLLCALL_CONFIG_DIR: folders.config,
    XDG_RUNTIME_DIR: folders.runtime,
    // Nobody's profile is run, and nobody's settings and sessions are read.
    HOME: folders.home,
    SHELL: '/bin/sh',
    [MARK]: options.mark,
    // Nothing of the machine's own bus: a test without one must find none.
    DBUS_SESSION_BUS_ADDRESS: options.bus ?? `unix:path=${join(folders.root, 'no-bus')}`,
  });
  if (options.roll !== undefined) {
    const file = join(folders.root, 'roll.json');
    writeFileSync(file, JSON.stringify(options.roll));
    env['ROLLCALL_FIXTURE_ROLL'] = file;
  }
  Object.assign(env, options.env);
  const appDir = options.appDir ?? (options.roll === undefined ? ROOT : FIXTURE_APP);
  return { args: [appDir, ...(options.args ?? [])], env };
}

/** Launches through Playwright, which then can look into windows and the main process. */
export async function launchApp(options: LaunchOptions): Promise<ElectronApplication> {
  const { args, env } = await launchSpec(options);
  // Playwright would pin the light scheme otherwise; the app's own theme is to be seen.
  return _electron.launch({ args, env, cwd: ROOT, colorScheme: null });
}

/** Waits until the app with these folders answers on its control socket: from then on it quits in order. */
export async function whenServing(folders: Folders): Promise<void> {
  const { controlSocket } = resolvePaths({
    env: { ROLLCALL_STATE_DIR: folders.state, XDG_RUNTIME_DIR: folders.runtime },
    platform: process.platform,
    uid: process.getuid?.() ?? null,
    home: folders.root,
  });
  await eventually(async () => {
    const client = await connectControl(controlSocket, 60_000, { version: 'test' });
    // The signal handlers follow in the same turn as the socket; one more round trip is enough.
    await client.explain('1').finally(() => client.close());
  });
}

/** Launches as a shell does, without Playwright: for second launches and for what happens to a plain process. */
export async function spawnApp(options: LaunchOptions): Promise<ReturnType<typeof startMarked>> {
  const { args, env } = await launchSpec(options);
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return startMarked(options.mark, [(await electronRuntime()).executable, ...sandbox, ...args], { env, cwd: ROOT });
}
