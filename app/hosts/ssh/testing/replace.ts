/** Strangers on the numbers of a remote machine, put there as time would put them. */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PYTHON, SPAWN_AT, until } from '../../local/testing/processes.ts';
import { WITNESS } from '../../local/testing/strangers.ts';
import type { TestSshd } from './sshd.ts';

const run = promisify(execFile);

/** Runs a command there as a person would. */
export async function sshIn(config: string, alias: string, command: string, input = ''): Promise<string> {
  const running = run('/usr/bin/ssh', ['-F', config, '--', alias, command]);
  running.child.stdin?.end(input);
  return (await running).stdout;
}

/** A witness that takes the number of a process of the box, or has a thread of that number; it writes each signal down. */
const REPLACE = `
import sys, threading, time
WITNESS = ${JSON.stringify(WITNESS)}
pid, way, log = int(sys.argv[1]), sys.argv[2], sys.argv[3]
os.kill(pid, signal.SIGKILL)
while os.path.exists(f'/proc/{pid}'): time.sleep(0.01)
time.sleep(0.05)
if way == 'process':
    spawn_at(pid, [sys.executable, '-c', WITNESS, log])
elif os.fork() == 0:
    os.setsid()
    null = os.open('/dev/null', os.O_RDWR)
    for fd in (0, 1, 2): os.dup2(null, fd)
    for attempt in range(500):
        with open('/proc/sys/kernel/ns_last_pid', 'w') as last: last.write(str(pid - 1))
        thread = threading.Thread(target=time.sleep, args=(600,), daemon=True)
        thread.start()
        if thread.native_id == pid: break
    exec(WITNESS.replace('sys.argv[1]', 'log'))
`;

/**
 * Kills a server of the box without any ado and puts a stranger, or a stranger's thread, onto its number.
 *
 * @param config of the client, with an alias that leads to the box
 * @returns numbers of the signals that the stranger has got
 */
export async function replaceOn(
  box: TestSshd,
  config: string,
  alias: string,
  pid: number,
  way: 'process' | 'thread',
): Promise<() => string[]> {
  const log = join(box.folder, `signals-${pid}-${way}`);
  writeFileSync(log, '');
  await sshIn(config, alias, `${PYTHON} - ${pid} ${way} ${log}`, `${SPAWN_AT}${REPLACE}`);
  await until('the stranger is there', () => readFileSync(log, 'utf8').startsWith('ready'));
  return () => readFileSync(log, 'utf8').split('\n').slice(1, -1);
}
