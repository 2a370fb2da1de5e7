/**
 * Takes pictures of the window over example rolls. Development only:
 * `node renderer/preview/shoot.mjs FOLDER [NAME…]`, with CHROMIUM naming a browser (default /usr/bin/chromium) and
 * QUICK=1 for two looks of each instead of four.
 */
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import react from '@vitejs/plugin-react';
import { chromium } from 'playwright';
import { build, preview } from 'vite';

const [folder = join(tmpdir(), 'rollcall-looks'), ...names] = process.argv.slice(2);
const root = import.meta.dirname;
const outDir = resolve(folder, 'site');
mkdirSync(folder, { recursive: true });

const common = { root, base: './', configFile: false, plugins: [react()], logLevel: 'warn' };
await build({ ...common, build: { outDir, emptyOutDir: true } });
const server = await preview({ ...common, build: { outDir }, preview: { host: '127.0.0.1', port: 0 } });
const address = server.httpServer.address();
const url = `http://127.0.0.1:${address.port}/`;

const LOOKS = [
  ['light', 1180, 760],
  ['dark', 900, 600],
  ['dark', 1180, 760],
  ['light', 900, 600],
].slice(0, process.env['QUICK'] === '1' ? 2 : 4);

const key =
  (...keys) =>
  async (page) => {
    for (const one of keys) await page.keyboard.press(one);
  };
const click = (name) => (page) => page.getByRole('button', { name, exact: true }).click();
const inDialog = (name) => (page) =>
  page.getByRole('dialog').or(page.getByRole('alertdialog')).getByRole('button', { name, exact: true }).click();
const row = (text) => (page) => page.getByRole('row').filter({ hasText: text }).first().click();
const steps =
  (...all) =>
  async (page) => {
    for (const step of all) await step(page);
  };

/** A task as the supervisor would show it, half way or at its end. */
const task = (state) => (page) =>
  page.evaluate((how) => {
    const { bridge, roll } = window.preview;
    const leaked = roll.servers.filter((server) => server.standing === 'leaked');
    const bad = how === 'failed';
    const over = how !== 'running';
    bridge.push({
      ...roll,
      version: roll.version + 1,
      alerts: over && !bad ? [] : roll.alerts,
      tasks: [
        {
          id: 't1',
          act: 'reap',
          title: over ? 'Reaped 2 of 3 servers' : 'Reaping 3 servers',
          startedAt: roll.takenAt,
          endedAt: over ? roll.takenAt : null,
          state: how,
          message: over ? '5 of 6 processes are gone, 1.97 GB freed.' : '5 of 6 processes ended, 1.97 GB freed.',
          rows: leaked.map((server, index) => ({
            id: server.id,
            label: `${server.kind} :${server.listening[0].port} on ${server.host}`,
            phase: index === 2 ? 'TERM, 1.4 of 5 s' : 'gone',
            outcome: index === 2 ? (bad ? 'survived' : null) : 'gone',
          })),
          results: leaked.flatMap((server, index) =>
            server.processes.map((process) => ({
              pid: process.pid,
              id: server.id,
              label: process.name,
              outcome: index === 2 && bad ? 'survived' : 'gone',
              verdict: index === 2 && bad ? 'same' : 'gone',
              signals: [`SIGTERM ${process.pid}`],
              message:
                index === 2 && bad
                  ? `PID ${process.pid} is still there after KILL. Look at it with ps.`
                  : 'It is gone.',
              freedBytes: process.rssBytes,
            })),
          ),
        },
      ],
    });
  }, state);

const failStart = (page) =>
  page.evaluate(() => {
    window.preview.bridge.answer('command.run', () => ({
      ok: false,
      failure: {
        code: 'port-taken',
        message: 'Port 4096 is held by node, PID 6120.',
        remedy: 'Choose another port, or stop that program.',
        detail: 'opencode exited with code 0 and said nothing.',
      },
      results: [],
    }));
  });

const slow = (page) =>
  page.evaluate(() => {
    window.preview.bridge.answer('command.run', () => new Promise(() => undefined));
  });

const chooseHost = (name) => (page) => page.locator('.side').getByRole('button', { name }).click();
const type = (text) => (page) => page.keyboard.type(text);
const menuItem = (name) => (page) => page.getByRole('menuitem', { name }).click();
const hostMenu = (name) => (page) => page.locator('.side').getByRole('button', { name }).click({ button: 'right' });

const settle = (page) => page.mouse.move(5, 5);
const shots = {
  servers: { act: settle },
  'servers-local': { roll: 'local', act: settle },
  leaked: { act: steps(row(':34801'), settle) },
  suspect: { act: steps(row(':14200'), settle) },
  supervised: { act: steps(row(':4096'), row('ledger'), settle) },
  menu: { act: steps(row('handbook'), key('Shift+F10')) },
  plan: { act: click('Review…') },
  'reap-progress': { act: steps(click('Review…'), slow, inDialog('Reap 3 servers'), task('running')) },
  'strip-running': { act: steps(task('running'), settle) },
  'strip-failed': { act: steps(task('failed'), settle) },
  results: { act: steps(task('failed'), click('Show results')) },
  'reap-one': { act: steps(row(':14200'), key('Delete')) },
  'reap-forced': { act: steps(row('handbook'), key('Delete')) },
  stop: { act: steps(row('ledger'), key('Delete')) },
  start: { act: click('Start server…') },
  'start-failed': { act: steps(failStart, click('Start server…'), inDialog('Start opencode')) },
  records: { act: steps(key('Control+3'), row('service.json'), settle) },
  clear: { act: steps(key('Control+3'), (page) => page.getByRole('button', { name: /^Move \d+ aside…$/u }).click()) },
  timeline: { act: steps(key('Control+4'), row('Refused'), settle) },
  'timeline-session': { act: steps(key('Control+4'), row('it is idle after'), settle) },
  'timeline-server': { act: steps(row('ledger'), key('Shift+F10'), menuItem('Show in timeline'), settle) },
  'timeline-saved': { act: steps(key('Control+4'), click('Export…'), settle) },
  sessions: { act: steps(key('Control+2'), row('Move invoices'), settle) },
  'sessions-idle': { act: steps(key('Control+2'), row('Shop checkout'), settle) },
  'sessions-menu': { act: steps(key('Control+2'), row('Fix the map'), key('Shift+F10')) },
  'sessions-server': { act: steps(row(':34801'), key('Shift+F10'), menuItem('Show its sessions'), settle) },
  'session-states': { roll: 'sessions', act: steps(key('Control+2'), row('Drop the old'), settle) },
  'session-parent': { roll: 'sessions', act: steps(key('Control+2'), row('Move invoices'), settle) },
  'session-child': { roll: 'sessions', act: steps(key('Control+2'), row('Find every'), settle) },
  'session-ended': { roll: 'sessions', act: steps(key('Control+2'), row('Clean the fixtures'), settle) },
  'session-foreign': { roll: 'sessions', act: steps(key('Control+2'), row('stack trace'), settle) },
  'session-end': { roll: 'sessions', act: steps(key('Control+2'), row('Move invoices'), key('Delete')) },
  'session-abort': { roll: 'sessions', act: steps(key('Control+2'), row('release notes'), click('Abort…')) },
  'sessions-empty': { roll: 'empty', act: steps(key('Control+2'), settle) },
  'idle-soon': { roll: 'idle-soon', act: steps(row('ledger'), settle) },
  'idle-setting': {
    roll: 'idle-soon',
    act: steps(row('ledger'), (page) => page.getByLabel('Stop when idle for').scrollIntoViewIfNeeded()),
  },
  'hooks-failed': { roll: 'hooks-failed', act: settle },
  'stop-sessions': { roll: 'sessions', act: steps(row('ledger'), key('Delete')) },
  settings: { act: key('Control+,') },
  empty: { roll: 'empty', act: settle },
  ended: { roll: 'ended', act: steps(row(':3773'), settle) },
  'ended-failed': { roll: 'failed', act: settle },
  'ended-many': { roll: 'many', act: steps(click('Show all 4'), settle) },
  hosts: { roll: 'hosts', act: settle },
  'host-menu': { roll: 'hosts', act: hostMenu(/^web-eu/u) },
  'host-failed': { roll: 'hosts', act: steps(chooseHost(/^web-eu/u), settle) },
  'host-connecting': { roll: 'hosts', act: steps(chooseHost(/^web-us/u), settle) },
  'host-shared': { roll: 'hosts', act: steps(chooseHost(/^build-01\.lan/u), settle) },
  reconnecting: { act: steps(chooseHost(/^studio-mac/u), row(':4096'), settle) },
  'add-host': { roll: 'hosts', act: steps(key('Control+n'), type('web'), key('ArrowDown')) },
  'edit-host': {
    roll: 'hosts',
    act: steps(hostMenu(/^pi-lab/u), menuItem('Edit…')),
  },
  'host-steps': { roll: 'hosts', act: steps(hostMenu(/^web-us/u), menuItem('Show steps…')) },
  'host-steps-failed': {
    roll: 'hosts',
    act: steps(chooseHost(/^web-eu/u), hostMenu(/^web-eu/u), menuItem('Show steps…'), inDialog('Show ssh output')),
  },
  'host-key': { roll: 'host-key', act: settle },
  'host-key-changed': { roll: 'hosts', act: steps(chooseHost(/^build-02/u), click('Show what changed…')) },
  password: { roll: 'password', act: type('hunter2') },
  passphrase: { roll: 'passphrase', act: settle },
  'disconnect-stop': {
    act: steps(hostMenu(/^build-01/u), menuItem('Disconnect and stop…')),
  },
  'remove-host': {
    act: steps(hostMenu(/^studio-mac/u), menuItem('Remove…')),
  },
  'start-remote': { act: steps(chooseHost(/^build-01/u), click('Start server…')) },
  'first-run': { roll: 'first-run', act: (page) => page.getByText('web-eu', { exact: true }).click() },
  'ended-log': { roll: 'failed', act: click('Show log') },
};

const browser = await chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium' });
let problems = 0;
try {
  for (const [name, shot] of Object.entries(shots)) {
    if (names.length > 0 && !names.includes(name)) continue;
    for (const [theme, width, height] of LOOKS) {
      const page = await browser.newPage({ viewport: { width, height }, colorScheme: theme });
      page.on('console', (message) => {
        // A browser asks every site for an icon; the preview has none.
        if (!['error', 'warning'].includes(message.type()) || message.location().url.endsWith('/favicon.ico')) return;
        problems += 1;
        console.error(`${name}: ${message.text()}`);
      });
      page.on('pageerror', (error) => {
        problems += 1;
        console.error(`${name}: ${error.message}`);
      });
      await page.clock.setFixedTime(new Date(2026, 10, 30, 14, 32, 6));
      await page.goto(`${url}?roll=${shot.roll ?? 'example'}&theme=${theme}`);
      await page.locator('.window').waitFor();
      await shot.act(page);
      await page.waitForTimeout(250);
      const sideways = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      if (sideways) {
        problems += 1;
        console.error(`${name} ${theme} ${width}: scrolls sideways`);
      }
      await page.screenshot({ path: join(folder, `${name}-${theme}-${width}.png`) });
      await page.close();
    }
  }
} finally {
  await browser.close();
  await server.close();
}
process.stdout.write(problems === 0 ? `Pictures are in ${folder}.\n` : `${problems} problems.\n`);
process.exitCode = problems === 0 ? 0 : 1;
