/** Two computers that supervise one machine: a start of one is no business of the other while it may be under way. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AuditFile } from '../audit/audit.ts';
import { NOTHING_ASKED, SERVER_ARGUMENT } from '../hosts/local/testing/hosts.ts';
import { python, temporaryFolder } from '../hosts/local/testing/processes.ts';
import { recorded, remoteHost } from '../hosts/ssh/testing/remote.ts';
import { LocalExec, SHELLS } from '../hosts/ssh/testing/shells.ts';
import type { ProcessRef } from '../identity/identity.ts';
import { someRecord, someRef } from '../records/fixtures.testing.ts';
import { judgeRecords } from '../records/judge.ts';
import type { ServerRecord } from '../records/schema.ts';
import { bindCutOffStarts } from './reconcile/reconcile.ts';

const [dash] = SHELLS;

/** As `someRef`, with another place for the writer: every Rollcall runs on a computer, and any two may have one PID. */
const on = (hostId: string, pid = process.pid): ProcessRef => {
  const ref = someRef(pid);
  return { ...ref, identity: { ...ref.identity, hostId } };
};
const SELF = on('this computer');

async function machine(record: Partial<ServerRecord>) {
  if (dash === undefined) throw new Error('no shell');
  const nonce = randomUUID();
  const { host, store } = await remoteHost(new LocalExec(dash, { env: { HOME: temporaryFolder() } }));
  const server = python('print(1, flush=True); import time; time.sleep(60)', [SERVER_ARGUMENT], {
    env: { ...process.env, ROLLCALL_NONCE: nonce, ROLLCALL_KIND: 'test' },
  });
  await server.line();
  const spawned = await recorded(host, server.pid);
  await store.write(someRecord({ nonce, kind: 'test', state: 'planned', spawned: null, server: null, ...record }));
  const judged = async () => judgeRecords(await store.list(), host, new Set(), SELF);
  const bind = async (): Promise<string | undefined> => {
    const deps = { store, host, uid: host.uid, pending: new Set<string>(), writer: async () => SELF };
    const audit = new AuditFile(join(temporaryFolder(), 'audit.jsonl'));
    const look = await host.look({ ...NOTHING_ASKED, include: [server.pid] });
    await bindCutOffStarts(await store.list(), look, { ...deps, audit, self: 'app' });
    return (await store.read(store.pathOf(nonce)))?.record?.state;
  };
  return { store, spawned, judged, bind };
}

const agoed = (seconds: number): string => new Date(Date.now() - seconds * 1000).toISOString();

test('a start of another computer is pending and not bound by us while it may be under way', async () => {
  const { judged, bind } = await machine({ writer: on('another computer'), writtenAt: agoed(30) });
  expect(await judged()).toMatchObject({ live: [], stale: [], pending: [{ kind: 'test' }] });
  expect(await bind()).toBe('planned');
});

test('one that takes longer than a start does has been cut off: its server is adopted', async () => {
  const { judged, bind, spawned } = await machine({ writer: on('another computer'), writtenAt: agoed(150) });
  expect(await judged()).toMatchObject({ live: [], stale: [{ verdict: 'gone' }], pending: [] });
  expect(await bind()).toBe('bound');
  expect((await judged()).live).toMatchObject([{ ref: { identity: spawned.identity } }]);
});

test.each([
  ['this process', process.pid],
  ['another process, which held the lock that we have', 4_000_000],
])('a start of this computer that is not known has ended: %s wrote it', async (_, pid) => {
  const { judged, bind } = await machine({ writer: on('this computer', pid), writtenAt: agoed(1) });
  expect((await judged()).pending).toEqual([]);
  expect(await bind()).toBe('bound');
});
