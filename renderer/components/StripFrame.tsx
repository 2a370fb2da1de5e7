import type { ReactNode } from 'react';
import type { Alert } from '../../app/roll/schema.ts';
import type { GlyphName } from '../view/shapes.ts';

export interface FrameProps {
  readonly tone: 'leak' | 'fault' | 'calm';
  readonly shape: ReactNode;
  readonly title: string;
  readonly text: string;
  /** Links and the button, at the end of the line. */
  readonly children: ReactNode;
  /** What the strip opens up to. */
  readonly below?: ReactNode;
}

/** The strip over list and details: two lines, then what can be done. */
export function StripFrame({ tone, shape, title, text, children, below = null }: FrameProps) {
  return (
    <section className={`strip strip-${tone}`} aria-label={title}>
      {shape}
      <div className="strip-text">
        <p className="strip-title clip" title={title}>
          {title}
        </p>
        <p className="strip-detail clip" title={text}>
          {text}
        </p>
      </div>
      {children}
      {below}
    </section>
  );
}

interface AlertLook {
  readonly tone: FrameProps['tone'];
  readonly shape: GlyphName;
  readonly colour: string;
}

export const ALERT_LOOKS: Readonly<Record<Alert['level'], AlertLook>> = {
  leak: { tone: 'leak', shape: 'leaked', colour: 'leaked' },
  fault: { tone: 'fault', shape: 'fault', colour: 'suspect' },
  notice: { tone: 'calm', shape: 'file', colour: 'quiet' },
};
