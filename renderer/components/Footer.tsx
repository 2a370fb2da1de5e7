import type { ReactNode } from 'react';
import type { HostEntry, Roll } from '../../app/roll/schema.ts';
import { isReachable } from '../../app/text/host-words.ts';
import { clockTime, sentenceAge } from '../../app/text/words.ts';
import { useWindow } from '../state/context.tsx';
import { useNow } from './parts.tsx';

interface Props {
  readonly roll: Roll;
  /** Totals of what is shown. */
  readonly left: string;
  /** One line more, clipped: what waits, or what could not be read. */
  readonly children?: ReactNode;
  /** What is shown comes by event, not by looks. */
  readonly live?: boolean;
  /** Stands at the end in place of how fresh it is. */
  readonly end?: ReactNode;
}

/** When what is shown was last seen; of a host that is not connected, the time itself. */
function freshness(hosts: readonly HostEntry[], now: number, live: boolean): string {
  const looked = hosts.filter(isReachable).flatMap(({ lookedAt }) => (lookedAt === null ? [] : [Date.parse(lookedAt)]));
  if (looked.length > 0 && live) return 'Live';
  if (looked.length > 0) return `Looked ${sentenceAge(now - Math.max(...looked))} ago`;
  const before = hosts
    .flatMap(({ lookedAt }) => lookedAt ?? [])
    .sort()
    .at(-1);
  return before === undefined ? 'Not looked yet' : `As of ${clockTime(before, now)}`;
}

/** Totals, and how fresh they are. */
export function Footer({ roll, left, children = null, live = false, end }: Props) {
  const host = useWindow((state) => state.host);
  const now = useNow(1000);
  const chosen = roll.hosts.find(({ name }) => name === host);
  // Of two hosts that are one machine, one is looked at.
  const looked = chosen?.ssh?.sharedWith ?? host;
  const shown = roll.hosts.filter(({ name }) => looked === null || name === looked);
  return (
    <div className="foot">
      <span className="clip" title={left}>
        {left}
      </span>
      <span className="clip" title={typeof children === 'string' ? children : undefined}>
        {children}
      </span>
      <span className="foot-end">{end ?? freshness(shown, now, live)}</span>
    </div>
  );
}
