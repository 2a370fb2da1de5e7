/** Files of other tools, written by hand from what is known of them (facts of claude 2.1 and of entire's sources). */
import type { ProcessInfo } from '../../hosts/host.ts';
import { hashedHostId } from '../../hosts/local/process/observer.ts';
import { process } from '../../supervisor/testing/look.ts';
import type { Place, ProcessReading } from './find-process.ts';

export const SESSION = '0b1f5c9e-3f0e-4c1a-9a53-0d9b3c1d7a11';
export const OTHER = '7d3c2a10-55aa-4f6e-8a0b-3a6f0c9e2b22';
export const PID = 48_211;
export const TICKS = 20_095_994;
/** 12 September 2026, 15:07:13 UTC. */
export const STARTED = Date.UTC(2026, 8, 12, 15, 7, 13);
const MACHINE = '4e7515a39d2c445abe260791d619d4f4';

export const PLACE: Place = {
  observer: { hostId: hashedHostId(MACHINE), bootId: 'a-boot', pidNamespace: '4026531836' },
  hostname: 'bench',
};
export const DOMAIN = `linux:${MACHINE}:pid:[4026531836]`;

/** `<pid>.json` as Claude writes it today. */
export function claudeFile(rest: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    pid: PID,
    sessionId: SESSION,
    cwd: '/home/ann/shop',
    startedAt: STARTED + 2400,
    procStart: String(TICKS),
    pidDomain: DOMAIN,
    version: '2.1.278',
    peerProtocol: 1,
    kind: 'interactive',
    entrypoint: 'cli',
    status: 'busy',
    statusUpdatedAt: STARTED + 60_000,
    updatedAt: STARTED + 61_000,
    name: 'mend the basket',
    messagingSocketPath: `/tmp/cc-socks/${PID}.sock`,
    ...rest,
  });
}

/** `.git/entire-sessions/<id>.json`; Go writes times to the nanosecond. */
export function entireFile(rest: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    session_id: SESSION,
    cli_version: '0.9.1',
    base_commit: '5f0c1d',
    worktree_path: '/home/ann/shop',
    started_at: '2026-09-12T15:07:15.123456789Z',
    phase: 'active',
    last_interaction_time: '2026-09-12T17:09:00.5+02:00',
    agent_type: 'Claude Code',
    owner: { pid: PID, start: String(TICKS), boot: 'a-boot', host: 'bench', name: 'claude' },
    ...rest,
  });
}

/** `live-sessions/<id>.json` of entire's cache folder. */
export function pointerFile(rest: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    session_id: SESSION,
    common_dir: '/home/ann/shop/.git',
    worktree_path: '/home/ann/shop',
    phase: 'active',
    last_interaction_time: '2026-09-12T15:09:00Z',
    adopt_claim: null,
    ...rest,
  });
}

export function claudeProcess(rest: Partial<ProcessInfo> = {}): ProcessInfo {
  return process(PID, TICKS, { comm: 'claude', argv: ['claude'], startedAt: STARTED, ...rest });
}

export function running(info: ProcessInfo = claudeProcess()): ProcessReading {
  return { found: 'process', info };
}

export const ABSENT: ProcessReading = { found: 'absent' };
