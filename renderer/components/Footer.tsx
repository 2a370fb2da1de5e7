import type { ReactNode } from 'react';
import type { Roll } from '../../app/roll/schema.ts';
import { sentenceAge } from '../../app/roll/words.ts';
import { useWindow } from '../state/context.tsx';
import { useNow } from './parts.tsx';

interface Props {
  readonly roll: Roll;
  /** Totals of what is shown. */
  readonly left: string;
  /** One line more, clipped: what waits, or what could not be read. */
  readonly children?: ReactNode;
}

/** Totals, and how fresh they are. */
export function Footer({ roll, left, children = null }: Props) {
  const host = useWindow((state) => state.host);
  const now = useNow(1000);
  const looks = roll.hosts
    .filter((entry) => host === null || entry.name === host)
    .flatMap((entry) => (entry.lookedAt === null ? [] : [Date.parse(entry.lookedAt)]));
  return (
    <div className="foot">
      <span>{left}</span>
      <span className="clip" title={typeof children === 'string' ? children : undefined}>
        {children}
      </span>
      <span className="foot-end">
        {looks.length === 0 ? 'Not looked yet' : `Looked ${sentenceAge(now - Math.max(...looks))} ago`}
      </span>
    </div>
  );
}
