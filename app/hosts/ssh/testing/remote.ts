/** A remote host for one test, without ssh. */
import { onTestFinished } from 'vitest';
import type { ProcessRef } from '../../../identity/identity.ts';
import type { Host } from '../../host.ts';
import { recogniseTestServer } from '../../local/testing/hosts.ts';
import type { RemoteExec } from '../contract.ts';
import { createSshHost, type SshHostOptions } from '../host/ssh-host.ts';

export type TestRemote = Awaited<ReturnType<typeof createSshHost>>;

export async function remoteHost(exec: RemoteExec, options: Partial<SshHostOptions> = {}): Promise<TestRemote> {
  const remote = await createSshHost({
    name: 'far',
    exec,
    localObserver: null,
    recognise: recogniseTestServer,
    ...options,
  });
  onTestFinished(() => remote.host.close());
  return remote;
}

/** Records a process as the supervisor would. */
export async function recorded(host: Pick<Host, 'inspect'>, pid: number): Promise<ProcessRef> {
  const info = await host.inspect(pid);
  if (info === null) throw new Error(`PID ${pid} is not there`);
  return { identity: info.identity, evidence: { executable: info.executable, argvHash: info.argvHash } };
}
