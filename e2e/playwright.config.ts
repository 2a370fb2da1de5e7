import { defineConfig } from '@playwright/test';

// Workers read this file, too: no program sees the language, the folders or the agent of whoever runs the tests.
for (const name of Object.keys(process.env)) {
  if (/^(?:LANG|LC_|XDG_|OPENCODE|CLAUDE|CODEX)/u.test(name)) delete process.env[name];
}
Object.assign(process.env, { LANG: 'C.UTF-8', TZ: 'UTC' });

/**
 * Needs a display (`xvfb-run -a`); every test has a session bus, folders and processes of its own. One at a time: the
 * real supervisor sees every process of the machine, another test's too.
 */
export default defineConfig({
  testDir: '.',
  testMatch: '*.spec.ts',
  outputDir: '../test-results',
  workers: 1,
  // Only what hangs takes as long as this.
  timeout: 300_000,
  expect: { timeout: 60_000 },
  forbidOnly: process.env['CI'] !== undefined,
  reporter: [['list'], ['json', { outputFile: '../test-results/e2e.json' }]],
  globalSetup: './support/global-setup.ts',
});
