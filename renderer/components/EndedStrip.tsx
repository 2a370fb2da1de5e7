import { type ReactNode, useId, useState } from 'react';
import type { Alert, Ended } from '../../app/roll/schema.ts';
import {
  endedCause,
  endedDetail,
  endedNext,
  endedSummary,
  endedTitle,
  isAwaited,
  startAgainLabel,
} from '../../app/text/ended-words.ts';
import { useActs } from '../state/context.tsx';
import { Glyph } from './Glyph.tsx';
import { Button, useNow } from './parts.tsx';
import { ALERT_LOOKS, StripFrame } from './StripFrame.tsx';

/** How often a countdown is looked at, in milliseconds: often enough that no second is skipped. */
const TICK_MS = 250;

function Shape({ ended }: { readonly ended: Ended }) {
  if (ended.state === 'planned') return <Glyph name="turn" tone="busy" turning />;
  return ended.state === 'failed' ? <Glyph name="fault" tone="suspect" /> : <Glyph name="gone" tone="quiet" />;
}

/** Counts down here, so that nothing has to be sent each second. */
function useCountdown(ended: Ended): number {
  return useNow(isAwaited(ended) ? TICK_MS : null);
}

/** What can be done about one. `of` names it for those who only hear the button, where several stand together. */
function EndedActs({ ended, of = null }: { readonly ended: Ended; readonly of?: string | null }) {
  const acts = useActs();
  const named = (label: string) => (of === null ? undefined : `${label}: ${of}`);
  const start = startAgainLabel(ended);
  const over = ended.state !== 'planned';
  return (
    <>
      {ended.logPath === null ? null : (
        <Button look="link" aria-label={named('Show log')} onClick={() => acts.ask({ type: 'log', ended })}>
          Show log
        </Button>
      )}
      {over ? (
        <Button
          look="link"
          aria-label={named('Forget')}
          title="Takes it off the list: it is not started again, and its record goes."
          onClick={() => acts.forget(ended)}
        >
          Forget
        </Button>
      ) : null}
      {over ? (
        <Button aria-label={named(start)} onClick={() => acts.startAgain(ended)}>
          {start}
        </Button>
      ) : null}
    </>
  );
}

interface OneProps {
  readonly ended: Ended;
  readonly level: Alert['level'];
  readonly more: ReactNode;
}

function One({ ended, level, more }: OneProps) {
  return (
    <StripFrame
      tone={ALERT_LOOKS[level].tone}
      shape={<Shape ended={ended} />}
      title={`${ended.label} ended unexpectedly`}
      text={endedDetail(ended, useCountdown(ended))}
    >
      {more}
      <EndedActs ended={ended} />
    </StripFrame>
  );
}

function Line({ ended }: { readonly ended: Ended }) {
  const now = useCountdown(ended);
  // What comes next stands first: a narrow line loses its end.
  const detail = ended.state === 'planned' ? endedNext(ended, now) : `${endedNext(ended, now)} ${endedCause(ended)}`;
  return (
    <li className="strip-line">
      <Shape ended={ended} />
      <span className="strip-line-name" title={ended.directory}>
        {ended.label}
      </span>
      <span className="strip-detail clip" title={detail}>
        {detail}
      </span>
      <EndedActs ended={ended} of={ended.label} />
    </li>
  );
}

interface ManyProps {
  readonly ended: readonly Ended[];
  readonly level: Alert['level'];
  readonly more: ReactNode;
}

function Many({ ended, level, more }: ManyProps) {
  const [open, setOpen] = useState(false);
  const list = useId();
  const { tone } = ALERT_LOOKS[level];
  return (
    <StripFrame
      tone={tone}
      shape={tone === 'fault' ? <Glyph name="fault" tone="suspect" /> : <Glyph name="gone" tone="quiet" />}
      title={endedTitle(ended)}
      text={endedSummary(ended)}
      below={
        open ? (
          <ul className="strip-list" id={list}>
            {ended.map((each) => (
              <Line key={each.nonce} ended={each} />
            ))}
          </ul>
        ) : null
      }
    >
      {more}
      <Button aria-expanded={open} aria-controls={open ? list : undefined} onClick={() => setOpen(!open)}>
        {open ? 'Show less' : `Show all ${ended.length}`}
      </Button>
    </StripFrame>
  );
}

/** Servers of ours that went away unasked: what happened, what happens next, and what can be done about it. */
export function EndedStrip({ ended, level, more }: ManyProps) {
  const [only] = ended;
  if (only === undefined) return null;
  return ended.length === 1 ? (
    <One key={only.nonce} ended={only} level={level} more={more} />
  ) : (
    <Many ended={ended} level={level} more={more} />
  );
}
