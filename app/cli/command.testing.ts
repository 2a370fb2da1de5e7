/** The real `rollcall` command with its worker, bundled as the build does, for tests that need processes of it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll } from 'vitest';
import { type Paths, resolvePaths } from '../config/paths.ts';
import { NODE_SIDE } from '../hosts/local/testing/node-side.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const folders: string[] = [];
// Here and not where a folder is made: what a hook registers while it runs never comes to pass.
afterAll(() => Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true }))));

/** Call it in a `beforeAll`; the result is removed after the file's tests. @returns path of the program */
export async function bundleCommand(): Promise<string> {
  // Below node_modules, so that what is not bundled resolves as it does from the sources.
  const folder = mkdtempSync(join(ROOT, 'node_modules', '.rollcall-command-'));
  folders.push(folder);
  writeFileSync(join(folder, 'package.json'), '{"name":"rollcall","version":"0.0.0","type":"module"}');
  const out = join(folder, 'out');
  await build({
    ...NODE_SIDE,
    absWorkingDir: ROOT,
    entryPoints: { cli: 'app/cli/index.ts', 'look-worker': 'app/hosts/local/look/look-worker.ts' },
    outdir: out,
    // As in the build: a command loads what it needs.
    splitting: true,
  });
  return join(out, 'cli.js');
}

export interface Ran {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

/** Folders of one person's Rollcall below a folder of the test. */
export class CommandHome {
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  readonly paths: Paths;

  constructor(root: string, config: unknown) {
    this.root = root;
    this.env = {
      PATH: process.env['PATH'] ?? '',
      HOME: root,
      ROLLCALL_CONFIG_DIR: join(root, 'config'),
      ROLLCALL_STATE_DIR: join(root, 'state'),
      XDG_RUNTIME_DIR: join(root, 'run'),
    };
    this.paths = resolvePaths({
      env: this.env,
      platform: process.platform,
      uid: process.getuid?.() ?? null,
      home: root,
    });
    mkdirSync(join(root, 'run'), { recursive: true, mode: 0o700 });
    mkdirSync(this.paths.configDir, { recursive: true, mode: 0o700 });
    writeFileSync(this.paths.configFile, JSON.stringify(config), { mode: 0o600 });
  }
}

export function running(
  argv: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
): { readonly child: ChildProcess; readonly ended: Promise<Ran> } {
  // Files and no pipes: at its exit all that it printed is there, whoever else holds them still.
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-ran-'));
  const files = [join(folder, 'out'), join(folder, 'err')] as const;
  const [out, err] = [openSync(files[0], 'w'), openSync(files[1], 'w')];
  const child = spawn(argv[0], argv.slice(1), { env: { ...env }, stdio: ['ignore', out, err] });
  for (const descriptor of [out, err]) closeSync(descriptor);
  const ended = new Promise<Ran>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      const [printed, said] = [readFileSync(files[0], 'utf8'), readFileSync(files[1], 'utf8')];
      resolve({ code, signal, out: printed, err: said });
    });
  }).finally(() => rmSync(folder, { recursive: true, force: true }));
  return { child, ended };
}
