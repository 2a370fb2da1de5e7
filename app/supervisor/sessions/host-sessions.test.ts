import { expect, test } from 'vitest';
import type { Host, Look } from '../../hosts/host.ts';
import { someRef } from '../../records/fixtures.testing.ts';
import type { SessionRun } from '../../sessions/session-run.ts';
import type { JudgedServer } from '../judged-server.ts';
import type { JudgedLook } from '../monitor/host-monitor.ts';
import { HostSessions } from './host-sessions.ts';

const { identity } = someRef(4000);
const { hostId, bootId } = identity;

const life: SessionRun = {
  life: '7f0b3c52-3c0d-4a59-9c2e-6f1f7a9f0a11',
  key: '0123456789abcdef',
  id: 'ses_1',
  kind: 'opencode',
  host: 'local',
  directory: null,
  title: 'One',
  carrier: { label: 'opencode :4000', identity },
  openedAt: '2026-05-01T12:00:00.000Z',
};

function scene(ended: string[]): HostSessions {
  return new HostSessions(
    {
      host: { name: 'local', verify: async () => ({ verdict: 'gone' }) } as unknown as Host,
      audit: { problem: null, recent: [], write: () => undefined, note: ({ event }) => ended.push(`note ${event}`) },
      self: 'app',
      mode: 'app',
      keeping: {
        open: () => new Map([[life.key, life]]),
        begin: () => undefined,
        carry: () => undefined,
        end: (endings) => void ended.push(...endings.map((each) => `end ${each.life.id}, ${each.ending.reason}`)),
        recentlyEnded: () => [],
      },
      foreign: null,
    },
    () => undefined,
  );
}

const sight = { look: { observer: { hostId, bootId } } as Look, servers: [] } as unknown as JudgedLook;

test('a carrier that turns out to be gone after the close ends nothing: the next writer has the ledger', async () => {
  const ended: string[] = [];
  const closed = scene(ended);
  const observing = closed.observe(sight, []);
  closed.close();
  expect(await observing).toBe(false);
  expect(ended).toEqual([]);
  expect(await scene(ended).observe(sight, [])).toBe(true);
  expect(ended).toEqual(['end ses_1, server-gone', 'note session-ended']);
});

test('a second ending that is refused takes nothing from what the first one said', () => {
  const ended: string[] = [];
  const sessions = scene(ended);
  void sessions.observe(sight, []);
  const server = { leader: { identity }, surplus: [] } as unknown as JudgedServer;
  sessions.ending(server, { reason: 'server-stopped', text: 'its server was stopped' });
  sessions.ending(server, { reason: 'server-stopped', text: 'its server was reaped' });
  sessions.ended(server, false);
  sessions.exited(identity, { code: null, signal: 'SIGTERM' });
  expect(ended[0]).toBe('end ses_1, server-stopped');
});
