import type { HostEntry, Roll, SshEntry } from '../app/roll/schema.ts';
import { host, question, roll, server, ssh } from './support/fixture-roll.ts';
import { startNotificationService } from './support/notification-service.ts';
import { eventually } from './support/processes.ts';
import { answersOf, answerTo, commandsOf, expect, setRoll, test, windowOf } from './support/test.ts';

const STEPS: SshEntry['steps'] = [
  { step: 'name', state: 'done', detail: '203.0.113.24' },
  { step: 'port', state: 'done', detail: 'port 22' },
  { step: 'host-key', state: 'running', detail: null },
];
const FAILURE = {
  step: 'authentication',
  code: 'permission-denied',
  message: 'web-eu did not let dev in. It takes publickey; tried: publickey.',
  remedy: 'Check the user name and the key.',
  output: 'dev@web-eu: Permission denied (publickey).',
};

function withHost(state: HostEntry['state'], over: Partial<SshEntry> = {}, more: Partial<Roll> = {}): Roll {
  const web = host('web-eu', { state, lookedAt: null, ssh: ssh('web-eu', { saved: false, ...over }) });
  return roll({ hosts: [host('local'), web], servers: [server(1, 'owned')], ...more });
}

const OFFERED: Roll['offered'] = [
  { alias: 'build-01', from: 'config' },
  { alias: 'web-eu', from: 'config' },
];

test('a host is added from what ssh knows: its steps are shown, its failure has a remedy, then it is saved', async ({
  launch,
}) => {
  const app = await launch({ roll: roll({ offered: OFFERED, servers: [server(1, 'owned')] }) });
  const page = await windowOf(app);
  // No key is heard before the page is drawn.
  await expect(page.getByRole('heading', { name: 'Hosts' })).toBeVisible();
  await page.keyboard.press('Control+n');
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByRole('combobox', { name: 'Host' })).toBeFocused();
  await page.keyboard.type('web');
  await expect(dialog.getByRole('option')).toHaveText([/^web-eu/u]);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect(dialog.getByRole('combobox')).toHaveValue('web-eu');

  await answerTo(app, 'connect', null);
  await page.keyboard.press('Enter');
  await setRoll(app, withHost('connecting', { steps: STEPS }));
  await expect(dialog.getByRole('heading')).toHaveText('Adding web-eu');
  await expect(dialog.locator('[aria-current=step]')).toContainText('Check the host key');
  await expect(dialog).toContainText('203.0.113.24');
  await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
  // Cancelling ends the attempt.
  await page.keyboard.press('Escape');
  await expect(dialog).toBeHidden();

  await answerTo(app, 'connect', {
    ok: false,
    failure: { ...FAILURE, detail: FAILURE.output },
    results: [],
  });
  const failed = STEPS.with(2, { step: 'authentication', state: 'failed', detail: null });
  await page.getByRole('button', { name: 'Add a host…' }).click();
  await page.keyboard.type('web-eu');
  await page.keyboard.press('Enter');
  await setRoll(app, withHost('failed', { steps: failed, failure: FAILURE }));
  await expect(dialog.getByRole('heading')).toHaveText('web-eu could not be added');
  await expect(dialog.locator('.step-failed')).toContainText(`${FAILURE.message} ${FAILURE.remedy}`);
  await expect(dialog).not.toContainText('Permission denied');
  await dialog.getByRole('button', { name: 'Show ssh output' }).click();
  await expect(dialog).toContainText('Permission denied (publickey)');

  await answerTo(app, 'connect', { ok: true, message: 'Connected.', server: null, results: [] });
  await dialog.getByRole('button', { name: 'Try again' }).click();
  await expect(dialog).toBeHidden();
  expect((await commandsOf(app)).map(({ command }) => command)).toEqual([
    { command: 'connect', host: 'web-eu' },
    { command: 'disconnect', host: 'web-eu', stopServers: false },
    { command: 'connect', host: 'web-eu' },
    { command: 'connect', host: 'web-eu' },
    { command: 'save-host', name: 'web-eu', alias: 'web-eu', connect: 'at-start', was: null },
  ]);
  await app.close();
});

test('D5 questions of ssh open by themselves, one after the other; the safe answer has the focus', async ({
  launch,
}) => {
  const app = await launch({ roll: withHost('connecting', { steps: STEPS }) });
  const page = await windowOf(app);
  const fingerprint = 'SHA256:q7Zt0sYhLw3B9nVfRkE5uXa2mGdC8pJrT4iOy6HSvNc';
  const key = question('host-key', { fingerprint, text: `ED25519 key fingerprint is ${fingerprint}.` });
  await setRoll(app, withHost('authenticating', {}, { questions: [key, question('password')] }));
  const asked = page.getByRole('alertdialog', { name: 'Is this the key of web-eu?' });
  await expect(asked.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await expect(asked).toContainText('SHA256:q7Zt 0sYh Lw3B 9nVf');
  await asked.getByRole('textbox').fill('SHA256:somethingelse');
  await expect(asked.getByRole('button', { name: 'Trust and connect' })).toBeDisabled();
  await asked.getByRole('textbox').fill(fingerprint);
  await expect(asked).toContainText('They are the same.');
  await asked.getByRole('button', { name: 'Trust and connect' }).click();

  const secret = page.getByRole('dialog', { name: 'Password for web-eu' });
  await expect(secret.getByLabel('Password')).toBeFocused();
  await expect(secret.getByLabel('Password')).toHaveAttribute('type', 'password');
  await page.keyboard.type('correct horse');
  await page.keyboard.press('Enter');
  await expect(secret).toBeHidden();
  await setRoll(app, withHost('authenticating', {}, { questions: [question('password', { id: 'q-2', attempt: 2 })] }));
  await expect(secret).toContainText('Attempt 2.');
  await expect(secret.getByLabel('Password')).toHaveValue('');
  await page.keyboard.press('Escape');
  await expect(secret).toBeHidden();
  expect(await answersOf(app)).toEqual([
    { id: 'q-host-key', answer: 'yes' },
    { id: 'q-password', answer: 'correct horse' },
    { id: 'q-2', answer: null },
  ]);
  // One that runs out of time goes by itself, and a changed key is a refusal that nothing there accepts.
  const changed = {
    ...FAILURE,
    step: 'host-key',
    code: 'changed-host-key',
    remedy: 'Ask (ssh-keygen -R web-eu) first.',
  };
  await setRoll(app, withHost('failed', { failure: changed }));
  await page.getByRole('button', { name: 'Show what changed…' }).click();
  const refusal = page.getByRole('alertdialog', { name: 'The key of web-eu has changed' });
  await expect(refusal.getByRole('button', { name: 'Close' })).toBeFocused();
  expect(await refusal.getByRole('button').allTextContents()).toEqual(['Show ssh output', 'Copy command', 'Close']);
  await app.close();
});

test('D4 a host that does not answer counts down, keeps its rows, and is tried now', async ({ launch }) => {
  const rows = { servers: [server(1, 'owned'), server(2, 'supervised', { host: 'mac', kind: 't3' })] };
  const mac = (over: Partial<SshEntry>): Roll =>
    roll({
      ...rows,
      takenAt: new Date().toISOString(),
      hosts: [
        host('local'),
        host('mac', {
          state: 'reconnecting',
          lookedAt: new Date(Date.now() - 20_000).toISOString(),
          ssh: ssh('mac', over),
        }),
      ],
    });
  const app = await launch({ roll: mac({ attempt: 3, retryAt: new Date(Date.now() + 60_000).toISOString() }) });
  const page = await windowOf(app);
  await page.getByRole('navigation', { name: 'Hosts' }).getByRole('button', { name: /^mac/u }).click();
  const strip = page.getByRole('region', { name: 'mac does not answer' });
  const seconds = async (): Promise<number> =>
    Number(/Attempt 3 in (\d+) s/u.exec((await strip.textContent()) ?? '')?.[1]);
  const before = await seconds();
  await expect.poll(seconds).toBeLessThan(before);
  await page.getByRole('row').filter({ hasText: 't3' }).click();
  const details = page.getByRole('complementary', { name: 'Details' });
  await expect(details.getByRole('button', { name: 'Stop…' })).toBeDisabled();
  await expect(details).toContainText('without a connection Rollcall cannot prove');
  await strip.getByRole('button', { name: 'Try now' }).click();
  await strip.getByRole('button', { name: 'Stop trying' }).click();
  expect((await commandsOf(app)).map(({ command }) => command)).toEqual([
    { command: 'connect', host: 'mac' },
    { command: 'disconnect', host: 'mac', stopServers: false },
  ]);
  await app.close();
});

test('D5 a question that somebody waits for brings the window up; another is a notification that leads to it', async ({
  panel,
  launch,
  bus,
}) => {
  const service = await startNotificationService(bus);
  const tray = await panel();
  const app = await launch({ roll: withHost('disconnected') });
  const icon = await tray.icon();
  await eventually(async () => expect(await icon.labels()).toContain('web-eu, not connected'));
  await setRoll(app, withHost('authenticating', {}, { questions: [question('code')] }));
  await eventually(async () =>
    expect(service.shown.map(({ title }) => title)).toEqual(['web-eu waits for a one-time code']),
  );
  expect(app.windows()).toHaveLength(0);
  await eventually(async () => expect((await icon.labels())[0]).toBe('web-eu waits for a one-time code'));

  await setRoll(app, withHost('disconnected'));
  await eventually(async () => expect(await icon.labels()).toContain('web-eu, not connected'));
  await icon.choose('web-eu, not connected', 'Connect');
  await setRoll(app, withHost('authenticating', {}, { questions: [question('code', { id: 'q-3' })] }));
  const page = await windowOf(app);
  await expect(page.getByRole('dialog', { name: 'One-time code for web-eu' })).toBeVisible();
  await app.close();
  service.leave();
});
