import type { BuildOptions } from 'esbuild';

/** What bundles of our own code have in common, as in the build; a test adds what goes in and where it comes out. */
export const NODE_SIDE = {
  bundle: true,
  loader: { '.sh': 'text', '.py': 'text' },
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // A package's UMD build hides its requires from the bundler.
  mainFields: ['module', 'main'],
  external: ['koffi', 'systeminformation'],
  // Tests start them hundreds of times, and much of a start is reading.
  minifyWhitespace: true,
  minifySyntax: true,
  logLevel: 'error',
} as const satisfies BuildOptions;
