import type { ReactNode } from 'react';
import { useState } from 'react';
import type { Failure } from '../../app/roll/commands.ts';
import type { ReapResult } from '../../app/roll/schema.ts';
import { Glyph } from '../components/Glyph.tsx';
import { Button } from '../components/parts.tsx';
import type { Run } from './useRun.ts';

interface CheckBoxProps {
  readonly checked: boolean;
  readonly disabled?: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly label: string;
  /** Shown beside the box; without it the label is only spoken. */
  readonly children?: ReactNode;
}

export function CheckBox({ checked, disabled = false, onChange, label, children }: CheckBoxProps) {
  return (
    <label className={children === undefined ? 'check-box bare' : 'check-box'}>
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        aria-label={children === undefined ? label : undefined}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span className="box">
        <Glyph name="check" />
      </span>
      {children}
    </label>
  );
}

/** Consequences, one per line. */
export function Consequences({ lines }: { readonly lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <ul className="ends">
      {lines.map((line) => (
        <li key={line}>
          <Glyph name="dash" />
          <span>{line}</span>
        </li>
      ))}
    </ul>
  );
}

/** One sentence of what happened, one of the way out, the raw text behind a link. */
export function FailureNote({ failure }: { readonly failure: Failure }) {
  const [open, setOpen] = useState(false);
  return (
    <div className="failure" role="alert">
      <Glyph name="fault" tone="suspect" />
      <div>
        <p>
          {failure.message} {failure.remedy}
        </p>
        {failure.detail === null ? null : (
          <Button look="link" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? 'Hide the log' : 'Show the log'}
          </Button>
        )}
        {open && failure.detail !== null ? <pre className="log wrap">{failure.detail}</pre> : null}
      </div>
    </div>
  );
}

export const OUTCOME_WORDS: Readonly<Record<ReapResult['outcome'], string>> = {
  gone: 'gone',
  refused: 'refused',
  survived: 'still there',
  'came-back': 'came back',
};

/** The result of one row: its shape and word, and the sentence where it is not simply gone. */
export function ReapOutcome({ outcome }: { readonly outcome: ReapResult['outcome'] }) {
  const gone = outcome === 'gone';
  return (
    <span className={gone ? 'outcome' : 'outcome outcome-bad'}>
      <Glyph
        name={gone ? 'check' : outcome === 'refused' ? 'shield' : 'fault'}
        tone={gone ? 'supervised' : 'suspect'}
      />
      {OUTCOME_WORDS[outcome]}
    </span>
  );
}

/** The line under a question's title: what stands against it, then the act's progress, then its answer. */
export function actLead(run: Run, question: string | undefined): string | undefined {
  if (run.phase === 'running') return run.task === null || run.task.message === '' ? 'Asking…' : run.task.message;
  return run.result?.ok === true ? run.result.message : run.phase === 'idle' ? question : undefined;
}
