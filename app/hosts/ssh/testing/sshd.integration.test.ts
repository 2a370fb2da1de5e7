import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { promisify } from 'node:util';
import { beforeEach, expect, test } from 'vitest';
import { until } from '../../local/testing/processes.ts';
import { sshConfig, sshdProblem, testSshd } from './sshd.ts';
import { markedWith } from './sshd-processes.ts';

const problem = sshdProblem();
beforeEach((context) => {
  if (problem !== null) context.skip(problem);
});

const run = promisify(execFile);

async function ssh(config: string, alias: string, command: string): Promise<string> {
  const { stdout } = await run('ssh', ['-F', config, '-o', 'BatchMode=yes', '-n', '--', alias, command]);
  return stdout.trim();
}

test('an sshd of this very machine shares its PIDs, has a home of its own, and takes what it started with it', async () => {
  const before = existsSync('/run/sshd');
  const box = await testSshd();
  const config = sshConfig({ box: [box] });
  const said = await ssh(
    config,
    'box',
    'sleep 600 >/dev/null 2>&1 </dev/null & echo $! $HOME; readlink /proc/self/ns/pid',
  );
  const [words = '', namespace] = said.split('\n');
  const [pid, home] = words.split(' ');
  expect(home).toBe(box.home);
  expect(namespace).toBe(readlinkSync('/proc/self/ns/pid'));
  expect(existsSync(`/proc/${pid}`)).toBe(true);
  const mark = /ROLLCALL_TEST_SSHD=([\w-]+)/u.exec(readFileSync(`${box.folder}/sshd_config`, 'utf8'))?.[1] ?? '';
  expect(markedWith('ROLLCALL_TEST_SSHD', mark).length).toBeGreaterThan(0);
  await box.close();
  expect(markedWith('ROLLCALL_TEST_SSHD', mark)).toEqual([]);
  expect(existsSync(box.folder)).toBe(false);
  expect(existsSync('/run/sshd')).toBe(before);
});

test('a machine of its own has its own PIDs, names and boots, and can be BusyBox alone', async () => {
  const box = await testSshd({
    machine: true,
    busybox: true,
    accounts: [{ name: 'dev', uid: 61_234 }],
  });
  const config = sshConfig({ box: [box] });
  const facts =
    'id -un; readlink /proc/self/ns/pid; cat /etc/machine-id /proc/sys/kernel/random/boot_id; hostname; ps --version';
  const tell = async (): Promise<string[]> =>
    (
      await run('ssh', ['-F', config, '-n', '--', 'box', `${facts}; command -v python3 bash`]).catch(
        (error: { stdout: string }) => error,
      )
    ).stdout
      .trim()
      .split('\n');
  const [user, namespace, machineId, bootId, name, more] = await tell();
  expect(user).toBe('dev');
  expect(namespace).not.toBe(readlinkSync('/proc/self/ns/pid'));
  expect(machineId).not.toBe(readFileSync('/etc/machine-id', 'utf8').trim());
  expect(bootId).not.toBe(readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
  expect(name).toMatch(/^box-/u);
  expect(more).toBeUndefined();
  await box.down();
  await box.up();
  const after = await tell();
  expect(after[2]).toBe(machineId);
  expect(after[3]).not.toBe(bootId);
});

test('connections can be stopped, let go on and dropped', async () => {
  const box = await testSshd({ config: ['MaxSessions 2'] });
  const config = sshConfig({ box: [box] });
  const sleeping = run('ssh', ['-F', config, '-n', '--', 'box', 'echo up; sleep 600']);
  const ended = sleeping.then(
    () => 'ended',
    (error: { code: number }) => error.code,
  );
  await until('a connection is there', () => box.connections().length > 0);
  await until('it is up', () => execFileSync('ps', ['-eo', 'args='], { encoding: 'utf8' }).includes('sleep 600'));
  const states = (): string[] =>
    box.connections().map((pid) => /\) (\w)/u.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1] ?? '');
  box.signalConnections('SIGSTOP');
  await until('all are stopped', () => states().every((state) => state === 'T'));
  box.signalConnections('SIGCONT');
  await until('all go on', () => states().every((state) => state !== 'T'));
  box.signalConnections('SIGKILL');
  expect(await ended).toBe(255);
  await until('none is left', () => box.connections().length === 0);
});
