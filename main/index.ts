/**
 * Entry of the app. Nothing is awaited here: Electron is ready only after this module has been evaluated. It imports
 * nothing but Electron, since a missing package would fail before any line runs, and Electron's answer to that is an
 * error box and a process that stays.
 */
import { crash } from './crash.ts';

// A computed address keeps the bundler from pulling the app into this file.
const program: string = new URL('./app.js', import.meta.url).href;

(import(program) as Promise<typeof import('./app.ts')>).then((app) => app.start(import.meta.dirname)).catch(crash);
