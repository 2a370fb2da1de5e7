import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

const houses = ['app', 'main', 'renderer', 'build', 'bench', 'chaos'];
const tests = (suffix: string) => houses.map((house) => `${house}/**/*${suffix}.{ts,tsx}`);

/**
 * Tests use real processes, sockets and files, so they run in child processes (a worker thread cannot change uid or
 * working directory) and few at a time. `*.integration.test.ts` are those that start servers or look at the machine:
 * they see each other's processes, so they run one file at a time. `*.long.test.ts` are the long tier (docs/testing.md).
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
    projects: [
      // They keep nothing in their modules, and to load those anew for every file takes three quarters of the time.
      {
        extends: true,
        test: {
          name: 'unit',
          include: tests('.test'),
          exclude: [...tests('.integration.test'), ...tests('.long.test')],
          isolate: false,
        },
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
      {
        extends: true,
        test: {
          name: 'long',
          env: { ROLLCALL_WATCH_MINUTES: process.env['ROLLCALL_LONG_MINUTES'] ?? '2' },
          include: tests('.long.test'),
          fileParallelism: false,
          testTimeout: 30 * 60_000,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
