import { app } from 'electron';

/**
 * Ends the app with exit code 1 and the reason on stderr, in place of Electron's error box, which would leave a
 * half-started app behind a window that nobody may see. Records stay; the next start adopts what they name.
 */
export function crash(error: unknown): void {
  console.error(`rollcall: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  app.exit(1);
}

process.on('uncaughtException', crash);
process.on('unhandledRejection', crash);
