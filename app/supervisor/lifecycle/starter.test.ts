/** A start over a connection that goes while it is under way: nobody knows whether the server runs. */
import { expect, test } from 'vitest';
import type { Host } from '../../hosts/host.ts';
import { SpawnFailed } from '../../hosts/host.ts';
import { refOf } from '../../hosts/process-info.ts';
import { SshFailed } from '../../hosts/ssh-failed.ts';
import type { ServerRecord } from '../../records/schema.ts';
import type { RecordStore } from '../../records/store.ts';
import type { Kind } from '../../servers/kind.ts';
import { process } from '../testing/look.ts';
import { ServerRegistry } from './server-registry.ts';
import type { StartDeps } from './start-order.ts';
import { startServer } from './starter.ts';

const KIND = {
  name: 'opencode',
  locate: async () => ({ found: true, program: '/usr/bin/opencode' }),
  startPlan: (program: string, _directory: string, port: number | null) => ({
    argv: [program, 'serve'],
    env: {},
    port,
  }),
} as unknown as Kind;

/** A start on `box` whose spawn ends like this; what it left written down. */
async function startThat(spawnFails: Error): Promise<{ failure: unknown; records: ServerRecord[]; pending: number }> {
  const records = new Map<string, ServerRecord>();
  const pending = new Set<string>();
  const deps = {
    host: {
      name: 'box',
      folder: async (path: string) => ({ found: true, path }),
      spawn: () => Promise.reject(spawnFails),
    } as unknown as Host,
    store: {
      write: async (record: ServerRecord) => {
        records.set(record.nonce, record);
        return `/records/${record.nonce}.json`;
      },
      remove: async (nonce: string) => void records.delete(nonce),
    } as unknown as RecordStore,
    audit: { problem: null, recent: [], write: () => undefined, note: () => undefined },
    logsDir: '/logs',
    env: {},
    finder: {} as StartDeps['finder'],
    writer: refOf(process(1, 1)),
    look: () => Promise.reject(new Error('there is no connection')),
    uid: 1000,
    abort: new AbortController().signal,
    by: 'window',
    progress: () => undefined,
    lives: new ServerRegistry(
      'box',
      () => ({ when: 'never', attempts: 1 }),
      () => undefined,
    ),
    pending,
    programFileOf: () => null,
    serverAt: () => null,
  } satisfies StartDeps;
  const order = { kind: KIND, directory: '/srv', port: null, owner: null, keepRunning: true, attempt: 0 };
  const failure = await startServer(order, deps).then(
    () => null,
    (error: unknown) => error,
  );
  return { failure, records: [...records.values()], pending: pending.size };
}

test('a start whose outcome is not known keeps its planned record, by which the next look finds the server', async () => {
  const lost = new SshFailed('box', 'link', 'lost', 'The connection to box was lost.', 'Wait.');
  const { failure, records, pending } = await startThat(lost);
  expect(failure).toMatchObject({
    failure: {
      code: 'not-known',
      message: 'It is not known whether opencode was started on box: The connection to box was lost.',
    },
  });
  expect(records).toMatchObject([{ state: 'planned', directory: '/srv', spawned: null }]);
  // It is judged like any other record again.
  expect(pending).toBe(0);
});

test('a start that certainly came to nothing leaves no record', async () => {
  const failed = new SpawnFailed('/usr/bin/opencode', 'ENOENT', 'opencode is not there', null);
  const { failure, records } = await startThat(failed);
  expect(failure).toMatchObject({ failure: { code: 'spawn-failed' } });
  expect(records).toEqual([]);
});
