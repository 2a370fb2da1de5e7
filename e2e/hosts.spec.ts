/** Hosts over SSH, driven through the real window: real ssh, real sshd, real opencode, real processes on the other side. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Page } from '@playwright/test';
import { replaceOn } from '../app/hosts/ssh/testing/replace.ts';
import { sshConfig, sshdProblem, startSshd, type TestSshd } from '../app/hosts/ssh/testing/sshd.ts';
import { opencodeFolders } from '../app/servers/opencode-home.testing.ts';
import { installFake } from '../app/supervisor/testing/fake-opencode.ts';
import type { Folders } from './support/app.ts';
import { rollcall } from './support/command-line.ts';
import { eventually } from './support/processes.ts';
import { expect, test, windowOf } from './support/test.ts';

test.setTimeout(600_000);

const problem = sshdProblem();
// biome-ignore lint/suspicious/noSkippedTests: where no sshd can be had, and the reason is told
test.skip(problem !== null, problem ?? '');

const OPENCODE = resolve(import.meta.dirname, '../node_modules/.bin/opencode');
const PASSWORD = 'correct horse 9';

let box: TestSshd | null = null;
test.afterEach(async () => {
  await box?.close();
  box = null;
});

/** Saves a host that the app finds opencode on. */
function save(folders: Folders, name: string): void {
  const env = opencodeFolders(join(folders.root, 'there'));
  const hosts = { [name]: { start: { opencode: { path: OPENCODE, env } } } };
  folders.configure({ hosts, leak: { graceSeconds: 0 } });
}

const hostLine = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Hosts' }).getByText(name, { exact: true });

test('D11 an unknown key is confirmed and a password given in the window; opencode is started there, used and stopped', async ({
  launch,
  folders,
  mark,
}) => {
  box = await startSshd({
    machine: true,
    accounts: [{ name: 'root', password: PASSWORD }],
    config: ['PasswordAuthentication yes', 'PubkeyAuthentication no'],
  });
  mkdirSync(join(folders.root, 'there'));
  save(folders, 'box');
  const known = join(folders.root, 'known_hosts');
  const config = sshConfig({ box: [box, `UserKnownHostsFile ${known}`, 'PreferredAuthentications password'] });
  const app = await launch({ env: { ROLLCALL_SSH_CONFIG: config } });
  const page = await windowOf(app);
  await hostLine(page, 'box').click();
  await page.getByRole('button', { name: 'Connect', exact: true }).click();

  const key = page.getByRole('alertdialog', { name: 'Is this the key of box?' });
  await expect(key).toBeVisible();
  // It is shown in groups, for the eye.
  expect((await key.textContent())?.replace(/\s+/gu, '')).toContain(box.fingerprint);
  await expect(key.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await key.getByRole('button', { name: 'Trust and connect' }).click();
  const secret = page.getByRole('dialog', { name: 'Password for box' });
  await secret.getByLabel('Password').fill('wrong');
  await secret.getByRole('button', { name: 'Continue' }).click();
  await expect(secret.getByRole('alert')).toContainText('box did not take that password');
  await secret.getByLabel('Password').fill(PASSWORD);
  await secret.getByRole('button', { name: 'Continue' }).click();
  await expect(page.getByRole('button', { name: 'Disconnect', exact: true })).toBeVisible();

  await page
    .getByRole('button', { name: /Start server/u })
    .first()
    .click();
  const dialog = page.getByRole('dialog', { name: 'Start a server' });
  await dialog.getByLabel('Folder').fill('~');
  await dialog.getByRole('button', { name: 'Start opencode' }).click();
  const row = page.getByRole('row', { name: /Supervised/u });
  await expect(row).toBeVisible({ timeout: 90_000 });
  const list = JSON.parse(await rollcall(folders, mark, 'list', '--json')) as {
    servers: { host: string; url: string | null; standing: string }[];
  };
  const [server] = list.servers.filter(({ host, standing }) => host === 'box' && standing === 'supervised');
  expect(server).toBeDefined();
  await eventually(async () => {
    const answer = await fetch(new URL('/global/health', server?.url ?? 'http://127.0.0.1:1/'), {
      signal: AbortSignal.timeout(2000),
    });
    expect(((await answer.json()) as { healthy: boolean }).healthy).toBe(true);
  });

  await row.click();
  await page.getByRole('button', { name: 'Stop…' }).click();
  const question = page.getByRole('alertdialog');
  await question.getByRole('button', { name: /^Stop opencode/u }).click();
  await page.mouse.move(5, 5);
  await expect(page.getByRole('row', { name: /Supervised/u })).toHaveCount(0);
  await app.close();
  await eventually(() => expect(box?.connections()).toEqual([]));
});

test('a stale record, by PID and by thread: on again at once, off again without a signal to the stranger, in the window', async ({
  launch,
  folders,
  mark,
}) => {
  box = await startSshd({ machine: true });
  const project = join(box.folder, 'project');
  mkdirSync(project);
  const hosts = { box: { connect: 'at-start', start: { opencode: { path: installFake(project) } } } };
  folders.configure({ hosts });
  const config = sshConfig({ box: [box] });
  const app = await launch({ env: { ROLLCALL_SSH_CONFIG: config } });
  const page = await windowOf(app);
  await hostLine(page, 'box').click();
  const row = page.getByRole('row', { name: /Supervised/u });
  const on = async (): Promise<number> => {
    await page
      .getByRole('button', { name: /Start server/u })
      .first()
      .click();
    const dialog = page.getByRole('dialog', { name: 'Start a server' });
    await dialog.getByLabel('Folder').fill(project);
    await dialog.getByRole('button', { name: 'Start opencode' }).click();
    await expect(dialog).toBeHidden();
    await page.mouse.move(5, 5);
    await expect(row).toBeVisible();
    const { servers } = JSON.parse(await rollcall(folders, mark, 'list', '--json')) as {
      servers: { host: string; pid: number; standing: string }[];
    };
    return servers.find(({ host, standing }) => host === 'box' && standing === 'supervised')?.pid ?? 0;
  };
  await expect(page.getByRole('button', { name: 'Disconnect', exact: true })).toBeVisible();
  for (const way of ['process', 'thread'] as const) {
    const felt = await replaceOn(box, config, 'box', await on(), way);
    await on();
    expect(felt()).toEqual([]);
    await row.click();
    await page.getByRole('button', { name: 'Stop…' }).click();
    await page
      .getByRole('alertdialog')
      .getByRole('button', { name: /^Stop opencode/u })
      .click();
    await page.mouse.move(5, 5);
    await expect(row).toHaveCount(0);
    expect(felt()).toEqual([]);
  }
  await app.close();
});

test('D11 a locked key is opened in the window, at the second try; a host key that has changed is refused, with no way round', async ({
  launch,
  folders,
}) => {
  box = await startSshd({ machine: true });
  execFileSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', PASSWORD, '-f', box.key]);
  save(folders, 'box');
  const known = join(folders.root, 'known_hosts');
  copyFileSync(box.knownHosts, known);
  const trusted = readFileSync(known, 'utf8');
  const config = sshConfig({ box: [box, `UserKnownHostsFile ${known}`] });
  const app = await launch({ env: { ROLLCALL_SSH_CONFIG: config } });
  const page = await windowOf(app);
  await hostLine(page, 'box').click();
  await page.getByRole('button', { name: 'Connect', exact: true }).click();

  const secret = page.getByRole('dialog', { name: /^Passphrase for / });
  await expect(secret.getByLabel('Passphrase')).toBeFocused();
  await expect(secret).toContainText(`ssh asks: Enter passphrase for key '${box.key}'`);
  await secret.getByLabel('Passphrase').fill('wrong');
  await secret.getByRole('button', { name: 'Continue' }).click();
  await expect(secret.getByRole('alert')).toContainText('That passphrase did not open the key. Attempt 2.');
  await secret.getByLabel('Passphrase').fill(PASSWORD);
  await secret.getByRole('button', { name: 'Continue' }).click();
  await expect(page.getByRole('button', { name: 'Disconnect', exact: true })).toBeVisible();

  await box.down();
  const hostKey = join(box.folder, 'host_key');
  rmSync(hostKey);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', hostKey]);
  await box.up();
  // The next attempt by itself meets another key, and is the last.
  const strip = page.getByRole('region', { name: 'The key of box has changed' });
  await expect(strip).toBeVisible();
  expect(await strip.getByRole('button').allTextContents()).toEqual(['Show what changed…']);
  await strip.getByRole('button', { name: 'Show what changed…' }).click();
  const refusal = page.getByRole('alertdialog', { name: 'The key of box has changed' });
  await expect(refusal).toContainText('HAS CHANGED');
  await expect(refusal).toContainText(known);
  await expect(refusal.getByRole('button', { name: 'Close' })).toBeFocused();
  expect(await refusal.getByRole('button').allTextContents()).toEqual(['Show ssh output', 'Copy command', 'Close']);
  await refusal.getByRole('button', { name: 'Close' }).click();
  await expect(refusal).toBeHidden();
  await expect(strip).toBeVisible();
  expect(readFileSync(known, 'utf8')).toBe(trusted);
  expect(box.log().match(/Accepted publickey/gu)).toHaveLength(1);
  await app.close();
});
