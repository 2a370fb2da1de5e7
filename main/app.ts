/** The app itself, in a bundle of its own so that its entry can tell what keeps it from being loaded. */

import { openLocalCore } from '../app/core/local-core.ts';
import { createGuardClient } from '../app/guard/create-guard-client.ts';
import { runApp } from './run.ts';

/** @param out absolute folder of the bundles */
export function startApp(out: string): Promise<void> {
  return runApp({
    startGuard: async ({ paths, version }) => {
      const keeper = await createGuardClient({ paths, out, version, env: process.env });
      keeper.begin();
      return keeper;
    },
    openCore: (context) => openLocalCore({ ...context, asksFrom: out }),
    out,
  });
}
