import { memo } from 'react';
import type { Session } from '../../app/roll/schema.ts';
import { sessionName, sessionStateWord } from '../../app/text/session-words.ts';
import { capitalised, NOTHING, shortenPath } from '../../app/text/words.ts';
import { stateLook } from '../view/sessionItems.ts';
import { Glyph } from './Glyph.tsx';
import { Age, CELL, Path } from './parts.tsx';

interface Props {
  readonly session: Session;
  /** How far it is indented under the session that started it. */
  readonly depth: number;
  /** It was here when the list was held, and is not any more. */
  readonly gone: boolean;
  /** How long it has been in its state: milliseconds, in steps no finer than what is shown; null where it is not known. */
  readonly age: number | null;
  readonly home: string;
}

/** The cells of a session's row. Memoised: one session's change renders one row. */
export const SessionCells = memo(function SessionCells({ session, depth, gone, age, home }: Props) {
  const { state, detail, parent, carrier, directory, host } = session;
  const look = stateLook(state);
  const name = sessionName(session);
  return (
    <>
      <div
        className={look.tone === 'busy' ? 'standing' : `standing ${look.tone}`}
        {...CELL}
        title={detail === null ? undefined : capitalised(detail)}
      >
        <Glyph name={look.shape} tone={look.tone} />
        <span>{gone ? 'Gone' : sessionStateWord(state)}</span>
      </div>
      <div className="what" {...CELL}>
        {parent === null ? null : (
          <span
            className="child"
            style={{ marginLeft: 16 * Math.max(0, depth - 1) }}
            title="Another session started it"
          >
            <Glyph name="child" />
          </span>
        )}
        <span className="clip kind" title={name}>
          {name}
        </span>
      </div>
      <div className="second col-carrier" {...CELL} title={carrier}>
        {carrier === '' ? NOTHING : carrier}
      </div>
      <div className="col-directory" {...CELL}>
        {directory === null ? <span className="faint">{NOTHING}</span> : <Path path={shortenPath(directory, home)} />}
      </div>
      <div className="second" {...CELL} title={host}>
        {host}
      </div>
      <div className="num second" {...CELL}>
        {age === null ? NOTHING : <Age ms={age} />}
      </div>
    </>
  );
});
