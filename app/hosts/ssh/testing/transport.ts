/** A transport for one test, closed after it; and proof that it left nothing. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { recordOf, testHost } from '../../local/testing/hosts.ts';
import { startTicks, temporaryFolder, until } from '../../local/testing/processes.ts';
import type { ConnectionState } from '../connection/connection-state.ts';
import type { SshConnection } from '../connection/ssh-connection.ts';
import { Transport, type TransportOptions } from '../connection/transport.ts';

export interface TestTransport {
  readonly transport: Transport;
  readonly folder: string;
  /** Every state of every link, in order, by status; the steps of one attempt are one `connecting`. */
  readonly states: readonly ConnectionState[];
  /** Closes it and fails if a process, socket or file of it is left. */
  closeAndCheck(): Promise<void>;
}

export async function testTransport(
  sshConfig: string | null,
  options: Partial<TransportOptions> = {},
): Promise<TestTransport> {
  const host = await testHost();
  const runtimeDir = options.runtimeDir ?? temporaryFolder();
  const states: ConnectionState[] = [];
  const started = new Map<number, string | null>();
  const transport = await Transport.open({
    runtimeDir,
    sshConfig,
    env: { ...process.env, SSH_AUTH_SOCK: undefined },
    questioner: null,
    ...options,
    capture: async (pid) => {
      started.set(pid, startTicks(pid));
      return options.capture === undefined ? recordOf(host, pid) : options.capture(pid);
    },
    onChange: (link: SshConnection) => {
      states.push(link.state);
      options.onChange?.(link);
    },
  });
  onTestFinished(() => transport.close());
  const folder = join(runtimeDir, 'ssh');
  return {
    transport,
    folder,
    states,
    async closeAndCheck() {
      await transport.close();
      await until('no ssh is left', () => [...started].every(([pid, ticks]) => startTicks(pid) !== ticks));
      expect(readdirSync(folder)).toEqual([]);
      expect(transport.processes).toEqual([]);
    },
  };
}

/** Statuses without repetition. */
export function statuses(states: readonly ConnectionState[]): readonly string[] {
  return states.map(({ status }) => status).filter((status, index, all) => status !== all[index - 1]);
}
