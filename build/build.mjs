// Bundles everything that runs into the flat folder `out/`: the Node sides with esbuild, the window with vite.
// Needs nothing but node_modules: no system package, no Electron runtime.
import { chmod, cp, mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import react from '@vitejs/plugin-react';
import * as esbuild from 'esbuild';
import { build as viteBuild } from 'vite';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

/** Sides that run in Node or in Electron's main process, by source and bundle. */
export const nodeSides = [
  { source: 'main/index.ts', bundle: 'main.js' },
  // Loaded by the entry, which can then tell what keeps it from loading.
  { source: 'main/app.ts', bundle: 'app.js' },
  // A sandboxed preload cannot be an ES module.
  { source: 'main/preload.ts', bundle: 'preload.cjs' },
  { source: 'app/hosts/local/look/look-worker.ts', bundle: 'look-worker.js' },
  { source: 'app/guard/index.ts', bundle: 'guard.js' },
  // Loaded by the guard when the app is gone. Its name stays the same, since a build or an upgrade may have replaced
  // it under a guard that waits.
  { source: 'app/guard/take-over.ts', bundle: 'guard-core.js' },
  // Run by ssh through askpass.sh, which lies beside it.
  { source: 'app/hosts/ssh/askpass/main.ts', bundle: 'askpass.js' },
  { source: 'app/cli/index.ts', bundle: 'cli.js', executable: true },
];

/** Scripts that other programs run by their path, by source and place in `out/`. */
const scripts = [{ source: 'app/hosts/ssh/askpass/askpass.sh', name: 'askpass.sh' }];

/** Left out of the bundles: provided by the runtime, or native and found beside the bundle in node_modules. */
export const externals = ['electron', 'koffi', 'systeminformation'];

/** Scripts for other machines are sent as they are. @type {Record<string, esbuild.Loader>} */
export const loaders = { '.sh': 'text', '.py': 'text' };

/** @param {{source: string, bundle: string, executable?: boolean}} side */
async function bundleNodeSide({ source, bundle, executable }) {
  const outfile = path.join(root, 'out', bundle);
  const commonjs = bundle.endsWith('.cjs');
  const stem = path.parse(bundle).name;
  if (executable) await removeParts(stem);
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: [source],
    bundle: true,
    // A command loads only the parts that its verb needs: parsing a megabyte would cost each one a tenth of a second.
    // The parts lie beside it, so that import.meta.url means the same folder in all of them.
    ...(executable
      ? { splitting: true, outdir: path.dirname(outfile), entryNames: stem, chunkNames: `${stem}-[hash]` }
      : { outfile }),
    platform: 'node',
    target: 'node20',
    format: commonjs ? 'cjs' : 'esm',
    // A package's UMD build hides its requires from the bundler.
    mainFields: ['module', 'main'],
    external: externals,
    loader: loaders,
    sourcemap: 'linked',
    // Its error names file and line; whoever called tells it.
    logLevel: 'silent',
    define: { 'process.env.NODE_ENV': '"production"' },
    // CommonJS packages inside an ES module bundle still call require for Node's own modules.
    banner: commonjs
      ? {}
      : {
          js: [
            "import { createRequire as __createRequire } from 'node:module';",
            'const require = __createRequire(import.meta.url);',
          ].join('\n'),
        },
  });
  if (executable) await chmod(outfile, 0o755);
}

/** Removes what an earlier build left, whose names no later one writes over. @param {string} stem */
async function removeParts(stem) {
  const out = path.join(root, 'out');
  const parts = new RegExp(`^${stem}-[A-Z0-9]{8}\\.js(?:\\.map)?$`, 'u');
  const names = (await readdir(out)).filter((name) => parts.test(name));
  await Promise.all(names.map((name) => rm(path.join(out, name))));
}

async function bundleWindow() {
  await viteBuild({
    configFile: false,
    root: path.join(root, 'renderer'),
    base: './',
    plugins: [react()],
    logLevel: 'warn',
    build: {
      outDir: path.join(root, 'out', 'renderer'),
      emptyOutDir: true,
      target: 'chrome130',
      sourcemap: true,
      // The window's content security policy allows no inline script and no data: resource.
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      // A slow machine is no news.
      rolldownOptions: { checks: { pluginTimings: false } },
    },
  });
}

/** Builds all sides into `out/`. Throws the bundler's error, which names file and line. */
export async function build() {
  const out = path.join(root, 'out');
  await mkdir(out, { recursive: true });
  await Promise.all([...nodeSides.map(bundleNodeSide), bundleWindow()]);
  for (const { source, name } of scripts) {
    await cp(path.join(root, source), path.join(out, name));
    await chmod(path.join(out, name), 0o755);
  }
  await cp(path.join(root, 'build', 'icons', 'png'), path.join(out, 'icons'), { recursive: true });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const begun = performance.now();
  await build();
  console.log(`build: out/ is ready, ${((performance.now() - begun) / 1000).toFixed(1)} s`);
}
