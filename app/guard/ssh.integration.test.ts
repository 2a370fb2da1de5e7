/** The connections of an app that is gone: its guard ends them, and the servers they led to stay. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectControl } from '../control/client.ts';
import { until } from '../hosts/local/testing/processes.ts';
import { sshConfig, sshdProblem, testSshd } from '../hosts/ssh/testing/sshd.ts';
import { installFake } from '../supervisor/testing/fake-opencode.ts';
import { isAlive } from '../supervisor/testing/processes.ts';
import { bundlePrograms, type Programs } from './bundles.testing.ts';
import { Scene } from './scene.testing.ts';

const problem = sshdProblem();
let folder: string;
let programs: Programs;

beforeAll(async () => {
  folder = mkdtempSync(join(fileURLToPath(new URL('../../node_modules', import.meta.url)), '.rollcall-guard-ssh-'));
  programs = await bundlePrograms(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function childrenOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' '),
  );
  return children.filter((child) => child !== '').map(Number);
}

function isMaster(pid: number): boolean {
  const argv = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  return argv[0] === 'ssh' && argv.includes('-N');
}

test.skipIf(problem !== null)(
  `the app is SIGKILLed: the guard ends its ssh processes by identity, also a stopped one; servers there stay (${problem ?? 'real sshd'})`,
  async () => {
    const box = await testSshd({ machine: true });
    const project = join(box.folder, 'project');
    mkdirSync(project);
    const path = installFake(project);
    const scene = new Scene(programs, { config: { hosts: { box: { start: { opencode: { path } } } } } });
    try {
      const app = await scene.app({ ROLLCALL_SSH_CONFIG: sshConfig({ box: [box] }) });
      const control = await connectControl(scene.paths.controlSocket, 60_000, { version: '0.0.0-test' });
      expect(await control.run({ command: 'connect', host: 'box' }, 'cli')).toMatchObject({ ok: true });
      const started = await control.run(
        {
          command: 'start',
          host: 'box',
          kind: 'opencode',
          directory: project,
          port: null,
          forPid: null,
          keepRunning: false,
        },
        'cli',
      );
      if (!started.ok || started.server === null) throw new Error(JSON.stringify(started));
      control.close();
      const masters = childrenOf(app.pid).filter(isMaster);
      expect(masters).toHaveLength(1);
      const [master = 0] = masters;
      // One that hangs does not hear of SIGTERM.
      process.kill(scene.started.note(master), 'SIGSTOP');
      await app.crash();
      await scene.until('the guard has ended it', () => !isAlive(master), 60_000);
      await until('the machine sees no connection', () => box.connections().length === 0, 60_000);
      const sent = scene.audit().filter(({ event, pid }) => event === 'signal-intent' && pid === master);
      expect(sent.map(({ by, signal }) => [by, signal])).toEqual([
        ['guard', 'SIGTERM'],
        ['guard', 'SIGKILL'],
      ]);
      await scene.until('nobody is left here', () => scene.processes().length === 0);
      const next = await scene.app({ ROLLCALL_SSH_CONFIG: sshConfig({ box: [box] }) });
      const again = await connectControl(scene.paths.controlSocket, 60_000, { version: '0.0.0-test' });
      expect(await again.run({ command: 'connect', host: 'box' }, 'cli')).toMatchObject({ ok: true });
      expect(again.roll.servers.filter(({ host }) => host === 'box')).toMatchObject([
        { id: started.server.id, standing: 'supervised' },
      ]);
      again.close();
      expect(await next.quit()).toBe(0);
    } finally {
      await scene.dispose();
    }
  },
  300_000,
);

test.skipIf(problem !== null)(
  'a command that is SIGKILLed leaves no connection, also without a guard',
  async () => {
    const box = await testSshd({ machine: true });
    const project = join(box.folder, 'project');
    mkdirSync(project);
    const opencode = { path: installFake(project), env: { FAKE: '{"silent":true}' } };
    const config = sshConfig({ box: [box] });
    const scene = new Scene(programs, {
      config: { hosts: { box: { start: { opencode } } } },
      env: { ROLLCALL_SSH_CONFIG: config },
    });
    try {
      const command = scene.command('start', 'opencode', '--host', 'box', '--dir', project);
      await until('it is connected', () => box.connections().length === 1, 60_000);
      const [master = 0] = childrenOf(command).filter(isMaster);
      expect(isAlive(master)).toBe(true);
      process.kill(command, 'SIGKILL');
      await until('its ssh is gone', () => !isAlive(master), 60_000);
      await until('the machine sees no connection', () => box.connections().length === 0, 60_000);
    } finally {
      await scene.dispose();
    }
  },
  300_000,
);
