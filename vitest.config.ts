import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

const houses = ['app', 'main', 'renderer', 'build', 'bench', 'chaos'];
const tests = (suffix: string) => houses.map((house) => `${house}/**/*${suffix}.{ts,tsx}`);

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
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    projects: [
      { extends: true, test: { name: 'unit', include: tests('.test'), exclude: tests('.integration.test') } },
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
