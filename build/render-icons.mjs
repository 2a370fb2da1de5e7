// Renders build/icons/*.svg to build/icons/png/ with the Electron runtime, whose renderer is exact and already here.
// Run it after changing a drawing: `node build/render-icons.mjs`. The pictures are committed, so a build needs no
// renderer; icons.test.mjs fails when they are older than their drawings.
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { hasDisplay, startDisplay } from './desktop.mjs';
import { resolveElectron } from './electron-runtime.mjs';
import { runQuietly } from './steps.mjs';

const icons = path.join(path.dirname(fileURLToPath(import.meta.url)), 'icons');
const pictures = path.join(icons, 'png');

const states = ['fine', 'leaks', 'fault'];
const appSizes = [16, 32, 48, 64, 128, 256, 512];
/** Tray sizes and the grid each is drawn from, with the free margin around the drawing in pixels. */
const traySizes = [
  { size: 16, grid: 16, margin: 0 },
  { size: 22, grid: 22, margin: 0 },
  { size: 24, grid: 22, margin: 1 },
  { size: 32, grid: 16, margin: 0 },
  { size: 44, grid: 22, margin: 0 },
];
/** Colours by the panel the icon lies on. */
const panels = {
  light: { roll: '#16191c', leaks: '#ba361b', fault: '#8a5a00' },
  dark: { roll: '#e7eaec', leaks: '#ff8061', fault: '#dfa63a' },
};

const coloured = (svg, panel, state) =>
  svg
    .replace('<g id="roll"', `<g id="roll" fill="${panel.roll}"`)
    .replace('<g id="badge"', `<g id="badge" fill="${panel[state] ?? panel.roll}"`);

/** Every picture to make: file name, drawing, size and margin. */
export async function picturesToMake() {
  const made = [];
  for (const state of states) {
    for (const { size, grid, margin } of traySizes) {
      const svg = await readFile(path.join(icons, `tray-${state}-${grid}.svg`), 'utf8');
      for (const [name, panel] of Object.entries(panels)) {
        made.push({ file: `tray-${state}-${name}-${size}.png`, svg: coloured(svg, panel, state), size, margin });
      }
    }
    // macOS colours template images itself: black with alpha.
    const template = await readFile(path.join(icons, `tray-${state}-16.svg`), 'utf8');
    made.push({ file: `tray-${state}Template.png`, svg: template, size: 16, margin: 0 });
    made.push({ file: `tray-${state}Template@2x.png`, svg: template, size: 32, margin: 0 });
  }
  const app = await readFile(path.join(icons, 'app-icon.svg'), 'utf8');
  for (const size of appSizes) made.push({ file: `app-${size}.png`, svg: app, size, margin: 0 });
  return made;
}

/** Hash of everything the pictures are made from. */
export function sourceHash(toMake) {
  return createHash('sha256').update(JSON.stringify(toMake)).digest('hex');
}

/** The program the runtime runs: draws each picture on a canvas and writes it as PNG. */
const painter = `
import { app, BrowserWindow } from 'electron';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
const [list, target] = process.argv.slice(-2);
const draw = (svg, size, margin) => new Promise((resolve, reject) => {
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = size;
    canvas.getContext('2d').drawImage(image, margin, margin, size - 2 * margin, size - 2 * margin);
    resolve(canvas.toDataURL('image/png'));
  };
  image.onerror = () => reject(new Error('the drawing cannot be read'));
  image.src = 'data:image/svg+xml;base64,' + btoa(svg);
});
app.whenReady().then(async () => {
  const window = new BrowserWindow({ show: false });
  await window.loadURL('about:blank');
  for (const { file, svg, size, margin } of JSON.parse(readFileSync(list, 'utf8'))) {
    const url = await window.webContents.executeJavaScript(
      '(' + draw + ')(' + JSON.stringify(svg) + ',' + size + ',' + margin + ')');
    writeFileSync(path.join(target, file), Buffer.from(url.split(',')[1], 'base64'));
  }
  app.exit(0);
}).catch((error) => { console.error(error); app.exit(1); });
`;

async function render() {
  const toMake = await picturesToMake();
  const runtime = await resolveElectron();
  const work = await mkdtemp(path.join(os.tmpdir(), 'rollcall-icons-'));
  const display = hasDisplay() ? { env: {}, end: async () => {} } : await startDisplay();
  try {
    await rm(pictures, { recursive: true, force: true });
    await mkdir(pictures, { recursive: true });
    await writeFile(path.join(work, 'painter.mjs'), painter);
    await writeFile(path.join(work, 'list.json'), JSON.stringify(toMake));
    const asRoot = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    const userData = `--user-data-dir=${path.join(work, 'user-data')}`;
    const args = [...asRoot, userData, path.join(work, 'painter.mjs'), path.join(work, 'list.json'), pictures];
    await runQuietly(runtime.executable, args, { env: { ...process.env, ...display.env }, timeoutMs: 60_000 });
    await writeFile(path.join(pictures, 'source.sha256'), `${sourceHash(toMake)}\n`);
  } finally {
    await display.end();
    await rm(work, { recursive: true, force: true });
  }
  console.log(`${toMake.length} pictures in ${path.relative(process.cwd(), pictures)}`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await render();
