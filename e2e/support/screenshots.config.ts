import { defineConfig } from '@playwright/test';

/**
 * Takes the pictures of the documentation, with the real app over a roll that stands still. No test: run by hand after
 * `npm run build`, `xvfb-run -a -s '-screen 0 1400x1000x24' npx playwright test -c e2e/support/screenshots.config.ts`.
 * ALL=FOLDER takes every scene in both themes and both sizes into that folder instead.
 */
export default defineConfig({
  testDir: '.',
  testMatch: 'screenshots.ts',
  outputDir: '../../test-results/screenshots',
  workers: 1,
  timeout: 60_000,
  reporter: [['list']],
  globalSetup: './global-setup.ts',
});
