/** The app's own entry with the fixture core in place of the supervisor. */
import { resolve } from 'node:path';
import { crash } from '../../main/crash.ts';
import { runApp } from '../../main/run.ts';
import { openFixtureCore } from './fixture-core.ts';

runApp({
  // The fixture core starts nothing that would need one.
  startGuard: async () => ({
    problem: null,
    open: () => undefined,
    update: () => undefined,
    updateSsh: () => undefined,
    startNow: async () => null,
    shutdown: async () => null,
  }),
  openCore: async ({ lock }) => {
    const core = openFixtureCore(process.env);
    Object.assign(globalThis, { fixture: core.fixture });
    return {
      ...core,
      get roll() {
        return core.roll;
      },
      async close(stopServers, deadlineMs) {
        const report = await core.close(stopServers, deadlineMs);
        await lock.release();
        return report;
      },
    };
  },
  out: resolve(import.meta.dirname, '..'),
  gatherMs: 1000,
}).catch(crash);
