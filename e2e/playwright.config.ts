import { defineConfig } from '@playwright/test';

/**
 * Needs a display (`xvfb-run -a`); every test has a session bus, folders and processes of its own. One at a time: the
 * real supervisor sees every process of the machine, another test's too.
 */
export default defineConfig({
  testDir: '.',
  testMatch: '*.spec.ts',
  outputDir: '../test-results',
  workers: 1,
  timeout: 120_000,
  expect: { timeout: 20_000 },
  forbidOnly: process.env['CI'] !== undefined,
  reporter: [['list'], ['json', { outputFile: '../test-results/e2e.json' }]],
  globalSetup: './support/global-setup.ts',
});
