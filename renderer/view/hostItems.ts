import type { HostEntry } from '../../app/roll/schema.ts';
import { hostStatus, runningStep, secondsToRetry, sharedSentence, shortStep } from '../../app/text/host-words.ts';
import { formatBytes, formatCpu, plural } from '../../app/text/words.ts';
import type { GlyphName } from './shapes.ts';

export interface HostShape {
  readonly name: GlyphName;
  readonly tone: 'suspect' | 'quiet' | 'busy' | '';
  readonly turning: boolean;
}

/** A host's state as a shape: shape first, colour second. */
export function hostShape(host: Pick<HostEntry, 'state' | 'ssh'>): HostShape {
  switch (host.state) {
    case 'connected':
      return { name: host.ssh === null ? 'computer' : 'on', tone: host.ssh === null ? '' : 'quiet', turning: false };
    case 'connecting':
      return { name: 'turn', tone: (host.ssh?.attempt ?? 0) > 0 ? 'suspect' : 'busy', turning: true };
    case 'reconnecting':
      return { name: 'turn', tone: 'suspect', turning: true };
    case 'authenticating':
      return { name: 'unknown', tone: 'suspect', turning: false };
    case 'disconnected':
      return { name: 'off', tone: 'quiet', turning: false };
    case 'failed':
    case 'unsupported':
      return { name: 'fault', tone: 'suspect', turning: false };
  }
}

/** What stands at the end of a host's line: how many servers it has, or where it stands. */
export function hostFigure(host: HostEntry, servers: number, now: number): string {
  const { ssh, state } = host;
  if (state === 'connected') return ssh?.sharedWith == null ? String(servers) : `= ${ssh.sharedWith}`;
  if (state === 'disconnected') return 'off';
  if (ssh === null) return String(servers);
  const seconds = secondsToRetry(ssh, now);
  if (seconds !== null) return `in ${seconds} s`;
  switch (state) {
    case 'connecting':
    case 'reconnecting': {
      const step = runningStep(ssh);
      return step === null ? 'trying' : shortStep(step.step);
    }
    case 'authenticating':
      return 'asks';
    default:
      return state;
  }
}

/** What is known of a machine, as the tooltip of its line. */
export function hostTooltip(host: HostEntry, now: number): string {
  const { ssh } = host;
  const parts = [`${ssh?.target ?? host.hostname}, ${hostStatus(host, now)}`];
  const shared = sharedSentence(host);
  if (shared !== null) parts.push(shared);
  if (ssh?.failure != null) parts.push(ssh.failure.message);
  else if (host.detail !== null) parts.push(host.detail);
  if (ssh !== null && !ssh.saved)
    parts.push('It is not on the list for good: add it, or it goes when it is disconnected.');
  if (host.cpuPercent !== null) parts.push(`CPU ${formatCpu(host.cpuPercent)} %`);
  if (host.memoryUsedBytes !== null && host.memoryTotalBytes !== null) {
    parts.push(`Memory ${formatBytes(host.memoryUsedBytes).text} of ${formatBytes(host.memoryTotalBytes).text}`);
  }
  if (host.load1 !== null) parts.push(`Load ${host.load1.toFixed(2)}`);
  if (host.lookedAt !== null) parts.push(`${plural(host.counted, 'process', 'processes')} looked at`);
  return parts.join('\n');
}
