/** A remote host for one test, without ssh. */
import { onTestFinished } from 'vitest';
import type { ProcessRef } from '../../../identity/identity.ts';
import type { Host } from '../../host.ts';
import { recogniseTestServer } from '../../local/testing/hosts.ts';
import type { Forwards, RemoteExec } from '../contract.ts';
import { createSshHost, type SshHostOptions } from '../host/ssh-host.ts';

export type TestRemote = Awaited<ReturnType<typeof createSshHost>>;

/** No way leads anywhere. */
const NO_FORWARDS: Forwards = {
  socket: () => Promise.reject(new Error('no forwards in this test')),
  port: () => Promise.reject(new Error('no forwards in this test')),
};

/** The caller closes it. */
export function openRemote(exec: RemoteExec, options: Partial<SshHostOptions> = {}): Promise<TestRemote> {
  return createSshHost({
    name: 'far',
    exec,
    forwards: NO_FORWARDS,
    onReach: () => undefined,
    localObserver: null,
    recognise: recogniseTestServer,
    ...options,
  });
}

export async function remoteHost(exec: RemoteExec, options: Partial<SshHostOptions> = {}): Promise<TestRemote> {
  const remote = await openRemote(exec, options);
  onTestFinished(() => remote.host.close());
  return remote;
}

/** Records a process as the supervisor would. */
export async function recorded(host: Pick<Host, 'inspect'>, pid: number): Promise<ProcessRef> {
  const info = await host.inspect(pid);
  if (info === null) throw new Error(`PID ${pid} is not there`);
  return { identity: info.identity, evidence: { executable: info.executable, argvHash: info.argvHash } };
}
