import { buildFixtureApp, electronRuntime } from './app.ts';

/** Once before all tests: the runtime is there and the fixture app is bundled. */
export default async function setUp(): Promise<void> {
  await electronRuntime();
  await buildFixtureApp();
}
