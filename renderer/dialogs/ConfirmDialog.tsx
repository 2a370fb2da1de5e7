import { type ReactNode, useState } from 'react';
import type { Failure } from '../../app/roll/commands.ts';
import type { Server } from '../../app/roll/schema.ts';
import { Glyph } from '../components/Glyph.tsx';
import { Button, Bytes } from '../components/parts.tsx';
import { useActs } from '../state/context.tsx';
import type { GlyphName } from '../view/shapes.ts';
import { DialogShell } from './DialogShell.tsx';
import { CheckBox, Consequences, FailureNote } from './parts.tsx';

/** One thing that the act is about. */
export interface ConfirmRow {
  readonly key: string;
  readonly glyph: GlyphName;
  readonly tone: string;
  readonly name: ReactNode;
  /** What stands at its right. */
  readonly figure: ReactNode;
  /** What has become of it; absent before its turn. */
  readonly state?: 'running' | 'done' | 'failed' | undefined;
}

export interface Confirmation {
  readonly title: string;
  readonly lead?: string | undefined;
  /** Something ends: announced as an alert. */
  readonly alert?: boolean;
  /** `danger` ends processes. */
  readonly look: 'danger' | 'primary';
  /** What the button says; null where there is nothing to do. */
  readonly act: string | null;
  readonly phase: 'idle' | 'running' | 'ended';
  /** Shown in the footer while it runs. */
  readonly progress?: string;
  readonly rows?: readonly ConfirmRow[];
  readonly consequences: readonly string[];
  /** Has to be ticked before the act, which it is handed to. */
  readonly consent?: string | null;
  readonly failures: readonly Failure[];
  /** Sentences about single processes. */
  readonly notes?: readonly string[];
  /** @param consented the box was there and ticked */
  readonly onAct: (consented: boolean) => void;
  /** Stands between consequences and consent. */
  readonly children?: ReactNode;
}

function RowState({ state }: { readonly state: ConfirmRow['state'] }) {
  if (state === undefined) return null;
  if (state === 'running') return <Glyph name="turn" tone="busy" turning />;
  return <Glyph name={state === 'done' ? 'check' : 'fault'} tone={state === 'done' ? 'supervised' : 'suspect'} />;
}

function Row({ row }: { readonly row: ConfirmRow }) {
  return (
    <li>
      <Glyph name={row.glyph} tone={row.tone} />
      {row.name}
      {row.figure}
      <RowState state={row.state} />
    </li>
  );
}

/** A server among the rows of a question. */
export function serverRow(server: Server, name: string, busy: boolean, state?: ConfirmRow['state']): ConfirmRow {
  return {
    key: server.id,
    glyph: 'supervised',
    tone: 'supervised',
    name: (
      <span className="clip">
        {name}
        {busy ? <span className="faint">, busy</span> : null}
      </span>
    ),
    figure: (
      <span className="num">
        <Bytes value={server.memoryBytes} />
      </span>
    ),
    state,
  };
}

/** Asks before an act: what it is about, what it costs, and a box to tick where somebody might still need it. */
export function ConfirmDialog(props: Confirmation) {
  const acts = useActs();
  const [consented, setConsented] = useState(false);
  const { phase, act, progress, rows = [], consent = null, notes = [] } = props;
  return (
    <DialogShell
      title={props.title}
      lead={props.lead}
      alert={props.alert ?? false}
      onClose={acts.closeDialog}
      footer={
        <>
          <span className="note progress-note">
            {phase === 'running' && progress !== undefined ? (
              <>
                <Glyph name="turn" tone="busy" turning />
                <span className="clip">{progress}</span>
              </>
            ) : null}
          </span>
          <Button data-first onClick={acts.closeDialog}>
            {phase === 'idle' ? 'Cancel' : 'Close'}
          </Button>
          {phase === 'idle' && act !== null ? (
            <Button
              look={props.look}
              disabled={consent !== null && !consented}
              onClick={() => props.onAct(consent !== null && consented)}
            >
              {act}
            </Button>
          ) : null}
        </>
      }
    >
      {rows.length === 0 ? null : (
        <ul className="stop-list">
          {rows.map((row) => (
            <Row key={row.key} row={row} />
          ))}
        </ul>
      )}
      <Consequences lines={props.consequences} />
      {props.children}
      {consent !== null && phase === 'idle' ? (
        <CheckBox checked={consented} onChange={setConsented} label={consent}>
          <span className="clip">{consent}</span>
        </CheckBox>
      ) : null}
      {props.failures.map((failure) => (
        <FailureNote key={failure.message} failure={failure} />
      ))}
      {notes.map((note) => (
        <p className="plan-note" key={note}>
          {note}
        </p>
      ))}
    </DialogShell>
  );
}
