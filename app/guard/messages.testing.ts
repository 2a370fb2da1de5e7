/** Messages as an app would send them. */
import { resolvePaths } from '../config/paths.ts';
import { someRecord } from '../records/fixtures.testing.ts';
import type { ServerRecord } from '../records/schema.ts';
import { GUARD_PROTOCOL, type GuardHello, type Handed } from './protocol.ts';

export const PATHS = resolvePaths({ env: {}, platform: 'linux', uid: 1000, home: '/home/me' });

export function hello(over: Partial<GuardHello> = {}): GuardHello {
  return {
    type: 'hello',
    protocol: GUARD_PROTOCOL,
    version: '0.1.0',
    runId: '5a1b8b1e-8f0e-4b38-9d5c-1b7a3f0f9f10',
    pid: 4000,
    paths: PATHS,
    ...over,
  };
}

export function handed(over: Partial<ServerRecord> = {}): Handed {
  const record = someRecord(over);
  return { record, path: `${PATHS.recordsDir}/${record.nonce}.json`, busy: 'idle', label: 'opencode :4096 on local' };
}
