import type { ProcessRef } from '../identity/identity.ts';
import type { ServerRecord } from './schema.ts';

/** A reference that no process of this machine has. */
export function someRef(pid: number, startTime: `linux:${string}` = 'linux:1000'): ProcessRef {
  return {
    identity: { hostId: 'host', bootId: 'boot', pidNamespace: '4026531836', pid, startTime, pidfdId: String(pid * 7) },
    evidence: { executable: { path: '/usr/bin/opencode', device: '1', inode: '2' }, argvHash: 'ab' },
  };
}

export function someRecord(change: Partial<ServerRecord> = {}): ServerRecord {
  return {
    version: 2,
    nonce: '3f1f7b4e-9d54-4c1e-8f43-0a6f0a4f2b11',
    kind: 'opencode',
    state: 'bound',
    directory: '/srv/project',
    writtenAt: '2026-03-02T12:00:00.000Z',
    writer: someRef(100),
    port: null,
    keepRunning: false,
    owner: null,
    spawned: someRef(200),
    server: someRef(201),
    listening: { address: '127.0.0.1', port: 4096 },
    command: ['opencode', 'serve'],
    logPath: '/state/logs/opencode.log',
    program: { path: '/usr/bin/opencode', device: '1', inode: '2', mtimeMs: 1_772_452_800_000.5 },
    planHash: 'ab'.repeat(32),
    attempt: 0,
    readyAt: '2026-03-02T12:00:04.000Z',
    ...change,
  };
}
