import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { spread } from './build/spread.mjs';

const houses = ['app', 'main', 'renderer', 'build', 'bench', 'chaos'];
const tests = (suffix: string) => houses.map((house) => `${house}/**/*${suffix}.{ts,tsx}`);

/** Seconds that the long files took, measured; parts that run beside each other should end together. */
const SECONDS: Readonly<Record<string, number>> = {
  'app/guard/guard.integration.test.ts': 243,
  'app/supervisor/remote/ssh-hosts.integration.test.ts': 112,
  'chaos/chaos.integration.test.ts': 111,
  'app/servers/real-opencode-sessions.integration.test.ts': 87,
  'app/cli/never-signalled.integration.test.ts': 82,
  'app/supervisor/trees.integration.test.ts': 76,
  'app/supervisor/remote/scale.integration.test.ts': 76,
  'app/supervisor/remote/real-opencode.integration.test.ts': 70,
  'app/hosts/ssh/host/over-sshd.integration.test.ts': 65,
  'app/supervisor/zero-signals.integration.test.ts': 62,
  'app/guard/sessions.integration.test.ts': 57,
  'app/supervisor/lifecycle.integration.test.ts': 56,
  'app/records/crash.integration.test.ts': 56,
  'app/hosts/ssh/host/remote-records.integration.test.ts': 53,
  'app/cli/cli.integration.test.ts': 52,
  'app/supervisor/reap.integration.test.ts': 51,
  'app/supervisor/elsewhere.integration.test.ts': 49,
  'app/supervisor/standings.integration.test.ts': 47,
  'app/cli/parallel.integration.test.ts': 47,
  'app/supervisor/guarantees.integration.test.ts': 45,
  'app/records/disk.integration.test.ts': 45,
  'app/cli/hosts.integration.test.ts': 44,
  'app/hosts/ssh/failures.integration.test.ts': 40,
  'app/hosts/ssh/link.integration.test.ts': 36,
  'app/supervisor/teardown.integration.test.ts': 32,
  'app/servers/real-opencode.integration.test.ts': 27,
  'app/hosts/ssh/host/stale.integration.test.ts': 27,
  'app/hosts/ssh/host/spawning.integration.test.ts': 26,
  'app/supervisor/quit.integration.test.ts': 23,
  'app/guard/ssh.integration.test.ts': 23,
  'app/hosts/ssh/host/ps-host.integration.test.ts': 22,
  'app/hosts/ssh/askpass/askpass.integration.test.ts': 20,
  'app/supervisor/sessions.integration.test.ts': 19,
  'app/hosts/ssh/host/ssh-host.integration.test.ts': 19,
  'app/supervisor/copies.integration.test.ts': 18,
  'app/hosts/local/exit-watcher.integration.test.ts': 18,
  'app/supervisor/stale-records.integration.test.ts': 17,
  'app/guard/keeper.integration.test.ts': 16,
  'app/sessions/hooks.integration.test.ts': 15,
  'app/supervisor/start.integration.test.ts': 14,
  'app/cli/sessions.integration.test.ts': 14,
  'app/hosts/local/look.integration.test.ts': 13,
};
const OTHERS_SECONDS = 6;

class Balanced extends BaseSequencer {
  override async shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { shard, root } = this.ctx.config;
    if (shard === undefined) return files;
    const nameOf = ({ moduleId }: TestSpecification): string => moduleId.slice(root.length + 1);
    const parts = spread(files, shard.count, nameOf, (name) => SECONDS[name] ?? OTHERS_SECONDS);
    return parts[shard.index - 1] ?? [];
  }
}

/**
 * Tests use real processes, sockets and files, so they run in child processes (a worker thread cannot change uid or
 * working directory) and few at a time. `*.integration.test.ts` are those that start servers or look at the machine:
 * they see each other's processes, so they run after the others and one file at a time.
 */
export default defineConfig({
  plugins: [
    {
      // As the build does: a script is a text.
      name: 'scripts-as-text',
      load: (id) => (/\.(?:sh|py)$/u.test(id) ? `export default ${JSON.stringify(readFileSync(id, 'utf8'))}` : null),
    },
  ],
  test: {
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 90_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    // No test runs the profile of whoever runs the tests.
    env: { SHELL: '/bin/sh' },
    // The parts of the tests run beside each other and import the same modules.
    experimental: { fsModuleCache: true },
    sequence: { sequencer: Balanced },
    projects: [
      // They keep nothing in their modules, and to load those anew for every file takes three quarters of the time.
      {
        extends: true,
        test: { name: 'unit', include: tests('.test'), exclude: tests('.integration.test'), isolate: false },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: tests('.integration.test'),
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
