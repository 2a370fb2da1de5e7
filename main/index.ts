/**
 * Entry of the app. It imports nothing but Electron, since a missing package would fail before any line runs, and
 * Electron's answer to that is an error box and a process that stays. Only the loading is awaited, so that what must
 * happen before Electron is ready does; awaiting readiness itself here would wait for ever.
 */
import { crash } from './crash.ts';

// A computed address keeps the bundler from pulling the app into this file.
const program: string = new URL('./app.js', import.meta.url).href;

try {
  const app = (await import(program)) as typeof import('./app.ts');
  app.startApp(import.meta.dirname).catch(crash);
} catch (error) {
  crash(error);
}
