import { defineConfig } from '@playwright/test';

/** Scenarios with the real app. Each brings its own bus, display size and folders; the display comes from outside. */
export default defineConfig({
  testDir: 'e2e',
  testMatch: '**/*.spec.ts',
  outputDir: 'test-results',
  workers: 2,
  retries: 0,
  forbidOnly: true,
  timeout: 90_000,
  globalTimeout: 12 * 60_000,
  expect: { timeout: 15_000 },
  reporter: [['list']],
});
