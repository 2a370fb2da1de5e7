/** The app itself, in a bundle of its own so that its entry can tell what keeps it from being loaded. */
import { createKeeper } from '../app/guard/keep.ts';
import { openLocalCore } from '../app/supervisor/local-core.ts';
import { runApp } from './run.ts';

/** @param out absolute folder of the bundles */
export function start(out: string): Promise<void> {
  return runApp({
    startGuard: async ({ paths, version }) => {
      const keeper = await createKeeper({ paths, out, version, env: process.env });
      keeper.begin();
      return keeper;
    },
    openCore: (context) => openLocalCore({ ...context, asksFrom: out }),
    out,
  });
}
