import { type GlyphName, SHAPES } from '../view/shapes.ts';

interface Props {
  readonly name: GlyphName;
  /** Colour class: a standing, `quiet`, `busy`. Inherits without one. */
  readonly tone?: string;
  /** Semaphore once per 1.1 s, or stands still with reduced motion. */
  readonly turning?: boolean;
}

/** A shape. Always beside its word, so assistive technology skips it. */
export function Glyph({ name, tone = '', turning = false }: Props) {
  const shape = SHAPES[name];
  const classes = `glyph glyph-${shape.size} ${tone} ${turning ? 'turning' : ''}`;
  return (
    <svg className={classes} viewBox={`0 0 ${shape.size} ${shape.size}`} aria-hidden="true" focusable="false">
      {shape.stroke === null ? (
        <path fill="currentColor" fillRule="evenodd" d={shape.path} />
      ) : (
        <path
          fill="none"
          stroke="currentColor"
          strokeWidth={shape.stroke}
          strokeLinecap="round"
          strokeLinejoin="round"
          d={shape.path}
        />
      )}
    </svg>
  );
}
