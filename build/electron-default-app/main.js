// What `electron [options] <app>` runs when the runtime carries no app of its own: loads the app that the command line
// names, the way the official default app does. Options it knows: -r/--require MODULE and -v/--version.
//
// It is an ES module on purpose: Electron holds back 'ready' until the entry module has settled, so an app loaded by
// the `await import()` below still runs before 'ready'.
import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { app } from 'electron';

/** Splits the command line into modules to load first and the app's path; other options are Chromium's. */
function readCommandLine(words) {
  const preloads = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at];
    if (word === '-v' || word === '--version') return { preloads, version: true };
    if (word === '-r' || word === '--require') {
      at += 1;
      preloads.push(words[at]);
    } else if (word.startsWith('--require=')) {
      preloads.push(word.slice('--require='.length));
    } else if (!word.startsWith('-')) {
      return { preloads, appPath: path.resolve(word) };
    }
  }
  return { preloads };
}

/** Takes name, version and desktop file from the app's package.json; returns the file to load. */
function introduce(appPath) {
  if (!statSync(appPath).isDirectory()) return appPath;
  const about = JSON.parse(readFileSync(path.join(appPath, 'package.json'), 'utf8'));
  const name = about.productName ?? about.name;
  if (name) app.setName(name);
  if (about.version) app.setVersion(about.version);
  if (about.desktopName) app.setDesktopName(about.desktopName);
  app.setAppPath(appPath);
  return path.resolve(appPath, about.main ?? 'index.js');
}

const { preloads, appPath, version } = readCommandLine(process.argv.slice(1));
if (version) {
  console.log(`v${process.versions.electron}`);
  process.exit(0);
}
if (!appPath) {
  console.error('usage: electron [options] <path of an app>');
  process.exit(2);
}
process.defaultApp = true;
const requireFromHere = createRequire(path.join(process.cwd(), 'package.json'));
for (const preload of preloads) requireFromHere(preload);
await import(pathToFileURL(introduce(appPath)).href);
