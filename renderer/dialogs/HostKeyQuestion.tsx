import { useId, useState } from 'react';
import { groupedFingerprint, keyTypeOf, sameFingerprint } from '../../app/text/host-words.ts';
import { Glyph } from '../components/Glyph.tsx';
import { Button } from '../components/parts.tsx';
import { DialogShell } from './DialogShell.tsx';
import type { QuestionProps } from './QuestionParts.tsx';
import { TimeLeft } from './QuestionParts.tsx';

/** What comparing came to, in words beside its shape. */
function Compared({ same }: { readonly same: boolean | null }) {
  if (same === null) return null;
  return (
    <p className={same ? 'compared' : 'compared field-problem'} role="status">
      <Glyph name={same ? 'check' : 'cross'} tone={same ? 'supervised' : 'suspect'} />
      {same ? 'They are the same.' : 'They differ. Do not connect; ask whoever runs the host.'}
    </p>
  );
}

/** Whether an unknown key is the host's: its fingerprint to be compared. Cancel is the safe answer and has the focus. */
export function HostKeyQuestion({ question, after, onAnswer }: QuestionProps) {
  const [expected, setExpected] = useState('');
  const [raw, setRaw] = useState(false);
  const id = useId();
  const { host, fingerprint, text } = question;
  const same = fingerprint === null ? null : sameFingerprint(fingerprint, expected);
  return (
    <DialogShell
      title={`Is this the key of ${host}?`}
      lead={`${host} is not in known_hosts yet. Compare this fingerprint with one from somebody who runs the host.`}
      alert
      onClose={() => onAnswer(null)}
      footer={
        <>
          <TimeLeft question={question} after={after} />
          <Button data-first onClick={() => onAnswer(null)}>
            Cancel
          </Button>
          <Button look="primary" disabled={same === false} onClick={() => onAnswer('yes')}>
            Trust and connect
          </Button>
        </>
      }
    >
      {fingerprint === null ? (
        <pre className="log wrap">{text.trim()}</pre>
      ) : (
        <>
          <div className="finger">
            <small className="finger-type">{keyTypeOf(question) ?? 'Host key'}</small>
            <span className="mono">{groupedFingerprint(fingerprint)}</span>
          </div>
          <label className="label" htmlFor={id}>
            Expected fingerprint (optional)
          </label>
          <div className="field">
            <input
              id={id}
              type="text"
              autoComplete="off"
              spellCheck={false}
              placeholder="Paste it here and Rollcall compares"
              value={expected}
              onChange={(event) => setExpected(event.target.value)}
            />
          </div>
          <Compared same={same} />
          <p className="note finger-note">
            Trusting it adds one line to known_hosts.{' '}
            <Button look="link" aria-expanded={raw} onClick={() => setRaw(!raw)}>
              {raw ? 'Hide what ssh says' : 'Show what ssh says'}
            </Button>
          </p>
          {raw ? <pre className="log wrap">{text.trim()}</pre> : null}
        </>
      )}
    </DialogShell>
  );
}

/** A yes or no that ssh or a key wants, in ssh's words. No is the safe answer and has the focus. */
export function ConfirmQuestion({ question, after, onAnswer }: QuestionProps) {
  return (
    <DialogShell
      title={`${question.host} waits for an answer`}
      alert
      onClose={() => onAnswer(null)}
      footer={
        <>
          <TimeLeft question={question} after={after} />
          <Button data-first onClick={() => onAnswer('no')}>
            No
          </Button>
          <Button look="primary" onClick={() => onAnswer('yes')}>
            Yes
          </Button>
        </>
      }
    >
      <pre className="log wrap">{question.text.trim()}</pre>
    </DialogShell>
  );
}
