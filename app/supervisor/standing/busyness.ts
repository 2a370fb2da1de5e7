/** Is a server busy? Every sign that can be had without touching it, weighed together. Pure. */
import type { Outgoing, ProcessInfo } from '../../hosts/host.ts';
import type { Busyness } from '../../servers/kind.ts';
import { sentenceAge } from '../../text/words.ts';
import type { Spans } from '../spans.ts';
import { nameOf } from './owner-label.ts';

/** A model may think this long before its first word; an open request is a possible sign of work until then. */
const MODEL_SILENCE_MS = 30_000;

export interface StreamFact {
  readonly reading: Busyness;
  /** Monotonic milliseconds of the last event that was no heartbeat, else of the opening. */
  readonly lastSign: number | null;
}

export interface BusyFacts {
  readonly main: ProcessInfo;
  /** Processes below the server's own. */
  readonly children: readonly ProcessInfo[];
  /** Established connections that the server itself opened. */
  readonly outgoing: readonly Outgoing[];
  /** Null when the kind has no stream, or the server is locked. */
  readonly stream: StreamFact | null;
  /** Why there is no stream although the kind has one ("it is locked behind a password"). */
  readonly streamWhy: string | null;
  /** Why its stream is not followed although its kind has one and it is not locked; null otherwise. */
  readonly streamMissing: string | null;
  readonly lowCpuSince: number | null;
  readonly spans: Pick<Spans, 'silenceMs' | 'cpuWindowMs'>;
  readonly now: number;
}

/** A child that leads or joined a session of its own is a tool; MCP and language servers stay in their server's. */
function toolChild(main: ProcessInfo, children: readonly ProcessInfo[]): ProcessInfo | undefined {
  return children.find((child) => child.session !== main.session);
}

export function judgeBusyness(facts: BusyFacts): Busyness {
  const tool = toolChild(facts.main, facts.children);
  if (tool !== undefined) return { busy: true, sign: `a tool runs: ${nameOf(tool)}, PID ${tool.pid}` };
  if (facts.stream !== null) return judgeStream(facts, facts.stream);
  if (facts.streamMissing !== null) return { busy: 'unknown', why: facts.streamMissing };
  return judgeCpu(facts);
}

function judgeStream(facts: BusyFacts, { reading, lastSign }: StreamFact): Busyness {
  if (reading.busy !== false) return reading;
  const silent = lastSign === null ? 0 : facts.now - lastSign;
  if (silent < facts.spans.silenceMs) {
    return {
      busy: 'unknown',
      why: `its event stream has been followed for ${sentenceAge(silent)} of ${facts.spans.silenceMs / 1000} s`,
    };
  }
  const request = facts.outgoing[0];
  if (request !== undefined && silent < MODEL_SILENCE_MS) return waiting(request);
  return { busy: false, sign: `no tool child, event stream silent for ${sentenceAge(silent)}` };
}

function waiting({ address, port }: Outgoing): Busyness {
  const why = `it has a connection to ${address} port ${port}, perhaps a model's answer it waits for`;
  return { busy: 'unknown', why };
}

function judgeCpu(facts: BusyFacts): Busyness {
  const because = facts.streamWhy === null ? '' : `${facts.streamWhy}; `;
  const percent = facts.main.cpuPercent;
  if (percent !== null && percent >= LOW_CPU_PERCENT) {
    return { busy: 'unknown', why: `${because}it uses ${percent.toFixed(1)} % of a core` };
  }
  if (facts.lowCpuSince === null || facts.now - facts.lowCpuSince < facts.spans.cpuWindowMs) {
    return {
      busy: 'unknown',
      why: `${because}its CPU has not been watched for ${facts.spans.cpuWindowMs / 1000} s yet`,
    };
  }
  const request = facts.outgoing[0];
  if (request !== undefined && facts.now - facts.lowCpuSince < MODEL_SILENCE_MS) return waiting(request);
  const quiet = sentenceAge(facts.now - facts.lowCpuSince);
  return { busy: false, sign: `${because}no tool child, CPU below ${LOW_CPU_PERCENT} % for ${quiet}` };
}
/** CPU counts as low below this percentage of one core; an idle opencode takes 1 to 2.5 (measured). */
export const LOW_CPU_PERCENT = 5;
