/** ServerRegistry of sessions for tests. */
import { createHash } from 'node:crypto';
import { someRef } from '../records/fixtures.testing.ts';
import type { SessionEnd, SessionRun } from './session-run.ts';
import type { HookRef } from './store/ledger.ts';

/** The same life for the same number. */
export function someLife(number: number, changes: Partial<SessionRun> = {}): SessionRun {
  const hash = createHash('sha256').update(String(number)).digest('hex');
  return {
    life: `${hash.slice(0, 8)}-${hash.slice(8, 12)}-4${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`,
    key: hash.slice(32, 48),
    id: `ses_${number}`,
    kind: 'opencode',
    host: 'local',
    directory: '/src/project',
    title: `Session ${number}`,
    carrier: { label: 'opencode :4096', identity: someRef(4000 + number).identity },
    openedAt: '2026-05-01T10:00:00.000Z',
    ...changes,
  };
}

export const CRASHED: SessionEnd = {
  at: '2026-05-01T11:00:00.000Z',
  reason: 'server-crashed',
  text: 'its server crashed',
};

/** The same hook for the same name. */
export function someHook(name: string): HookRef {
  return { id: createHash('sha256').update(name).digest('hex').slice(0, 16), label: name };
}
