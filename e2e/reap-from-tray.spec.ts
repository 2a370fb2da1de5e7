import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startNotificationService } from './support/notification-service.ts';
import { endMarked, eventually, lives, marked, newMark, startStranger } from './support/processes.ts';
import { startByLauncher } from './support/servers.ts';
import { expect, test } from './support/test.ts';

test('a real leaked opencode is reaped by one click in the real tray menu, and an owned one and a stranger live on', async ({
  launch,
  panel,
  mark,
  folders,
  bus,
}) => {
  test.setTimeout(120_000);
  writeFileSync(join(folders.config, 'config.json'), '{ "leak": { "graceSeconds": 3 } }');
  const orphanMark = newMark();
  const service = await startNotificationService(bus);
  const stranger = startStranger(mark);
  const owned = await startByLauncher(mark, join(folders.root, 'a'), join(folders.root, 'shop'));
  const orphan = await startByLauncher(orphanMark, join(folders.root, 'b'), join(folders.root, 'blog'));
  try {
    const host = await panel();
    const app = await launch();
    const icon = await host.icon(20_000);
    const ownedLine = new RegExp(`^◉ opencode :${owned.port}`, 'u');
    const orphanLine = new RegExp(`^◆ opencode :${orphan.port}, `, 'u');
    const lines = async () => (await icon.menu()).children.flatMap((one) => one.children.map((line) => line.label));
    await eventually(async () => expect((await lines()).some((line) => ownedLine.test(line))).toBe(true), 30_000);

    process.kill(orphan.launcher.pid, 'SIGKILL');
    await eventually(async () => expect((await lines()).some((line) => orphanLine.test(line))).toBe(true), 45_000, 500);
    // Exactly one, and it is ours: what else may be leaked on this machine is not a test's to end.
    await icon.choose(/^Reap 1 leaked server, frees /u);
    await service.find(/reaped, .* freed$/u, 30_000);
    await eventually(() => expect(marked(orphanMark)).toEqual([]), 15_000);
    expect([stranger, owned.listener, owned.launcher].every(lives)).toBe(true);
    const audit = readFileSync(join(folders.state, 'audit.jsonl'), 'utf8');
    expect(audit).toContain(`${orphan.listener.pid}`);
    expect(audit).not.toContain(`"pid":${stranger.pid}`);
    await eventually(async () => expect((await lines()).some((line) => orphanLine.test(line))).toBe(false), 15_000);
    await app.close();
  } finally {
    await endMarked(orphanMark);
  }
});
