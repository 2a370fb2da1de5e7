/** The programs that the guard's tests and the chaos run start, bundled into a folder as the build does. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { NODE_SIDE } from '../hosts/local/testing/node-side.ts';
import { SPANS, type Spans } from '../supervisor/spans.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const SOURCES = {
  'headless-app': 'app/guard/headless-app.testing.ts',
  guard: 'app/guard/index.ts',
  'guard-core': 'app/guard/take-over.ts',
  'look-worker': 'app/hosts/local/look/look-worker.ts',
  cli: 'app/cli/index.ts',
} as const;

/** The programs read their spans nowhere, so they are built with them. */
const withSpans = (spans: Partial<Spans>): Plugin => ({
  name: 'spans',
  setup(builder) {
    const contents = `export const SPANS = ${JSON.stringify({ ...SPANS, ...spans })};`;
    builder.onLoad({ filter: /\/app\/supervisor\/spans\.ts$/ }, () => ({ contents }));
  },
});

export interface Programs {
  /** Folder of the bundles. */
  readonly out: string;
  readonly app: string;
  readonly guard: string;
  readonly cli: string;
}

/** A server is idle sooner than in life, but later than its stream has told what it is at. */
export const SOON_IDLE: Partial<Spans> = { silenceMs: 1000 };

/**
 * @param folder below `node_modules`, so that what is not bundled is found as from the sources
 * @param spans other than those in life
 */
export async function bundlePrograms(folder: string, spans: Partial<Spans> = {}): Promise<Programs> {
  const out = join(folder, 'out');
  mkdirSync(out, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"name":"rollcall","version":"0.0.0-test","type":"module"}');
  await build({
    absWorkingDir: ROOT,
    entryPoints: Object.entries(SOURCES).map(([name, source]) => ({ in: source, out: name })),
    outdir: out,
    ...NODE_SIDE,
    plugins: [withSpans(spans)],
  });
  return { out, app: join(out, 'headless-app.js'), guard: join(out, 'guard.js'), cli: join(out, 'cli.js') };
}
