import { onTestFinished } from 'vitest';
import type { ProcessRef } from '../../../identity/identity.ts';
import type { Host, LookRequest, ProcessInfo } from '../../host.ts';
import { createLocalHost, type LocalHostOptions } from '../local-host.ts';
import type { Recognise } from '../look/candidates.ts';
import { inlineLooker } from '../look/looker.ts';
import { temporaryFolder } from './processes.ts';

export const NOTHING_ASKED: LookRequest = { customKinds: [], include: [], ownPids: [] };

/** Takes a process for a server when it was given this argument, wherever. */
export const SERVER_ARGUMENT = '--rollcall-test-server';

export const recogniseTestServer: Recognise = (process) =>
  process.argv.includes(SERVER_ARGUMENT)
    ? {
        state: 'server',
        recognition: {
          kind: 'test',
          role: 'server',
          declaredPort: null,
          transport: 'tcp',
          registeredService: false,
          subject: null,
          helper: false,
        },
      }
    : { state: 'other' };

/** A host for one test, closed after it. */
export async function testHost(options: Partial<LocalHostOptions> = {}): Promise<Host> {
  const host = await createLocalHost({
    looker: inlineLooker(recogniseTestServer),
    stateDir: temporaryFolder(),
    ...options,
  });
  onTestFinished(() => host.close());
  return host;
}

export async function inspected(host: Host, pid: number): Promise<ProcessInfo> {
  const info = await host.inspect(pid);
  if (info === null) throw new Error(`PID ${pid} is not there`);
  return info;
}

/** Records a process as the supervisor would. */
export async function recordOf(host: Host, pid: number): Promise<ProcessRef> {
  const { identity, executable, argvHash } = await inspected(host, pid);
  return { identity, evidence: { executable, argvHash } };
}
