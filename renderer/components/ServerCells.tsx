import { memo } from 'react';
import type { Leftover, Server } from '../../app/roll/schema.ts';
import { formatCpu, NOTHING, serverPlace, shortenPath, standingWord } from '../../app/text/words.ts';
import { ownerWords, sessionsWords, tagOf } from '../view/serverItems.ts';
import { Glyph } from './Glyph.tsx';
import { Age, Bytes, CELL, Path } from './parts.tsx';

interface StandingProps {
  readonly glyph: Server['standing'];
  readonly word: string;
  /** What is being done to it now; takes the word's place. */
  readonly phase: string | null;
}

function StandingCell({ glyph, word, phase }: StandingProps) {
  return (
    <div className={`standing ${glyph}`} {...CELL}>
      {phase === null ? <Glyph name={glyph} tone={glyph} /> : <Glyph name="turn" tone="busy" turning />}
      {/* The phase's first words: its time is in the tooltip, the details and the progress. */}
      <span title={phase ?? word}>{phase === null ? word : (phase.split(',')[0] ?? phase)}</span>
    </div>
  );
}

interface ServerProps {
  readonly server: Server;
  readonly phase: string | null;
  /** It was here when the list was held, and is not any more. */
  readonly gone: boolean;
  /** In milliseconds, in steps no finer than what is shown, so that a row renders again only when its text changes. */
  readonly age: number;
  readonly live: boolean;
  readonly home: string;
}

/** The cells of a server's row. Memoised: one server's change renders one row. */
export const ServerCells = memo(function ServerCells({ server, phase, gone, age, live, home }: ServerProps) {
  const tag = tagOf(server);
  const owner = ownerWords(server);
  const place = serverPlace(server);
  const sessions = sessionsWords(server);
  return (
    <>
      <StandingCell
        glyph={server.standing}
        word={gone ? 'Gone' : standingWord(server.standing)}
        phase={gone ? null : phase}
      />
      <div className="what" {...CELL}>
        <span className="clip kind">{server.kind}</span>
        {place === '' ? null : <span className={place.startsWith(':') ? 'port' : 'port faint'}>{place}</span>}
        {tag === null ? null : (
          <span className={tag.problem ? 'tag' : 'tag tag-calm'} title={tag.why}>
            <Glyph name={tag.problem ? 'fault' : 'reused'} />
            <span>{tag.word}</span>
          </span>
        )}
        {server.ownUid ? null : <span className="clip second not-own">another user’s</span>}
        {server.directory === null ? null : <Path path={shortenPath(server.directory, home)} />}
      </div>
      <div className="second col-owner" {...CELL} title={owner}>
        {owner}
      </div>
      <div className={sessions.busy && live ? 'num second strong' : 'num second'} {...CELL} title={sessions.tooltip}>
        {live ? sessions.word : NOTHING}
      </div>
      <div className="num second col-cpu" {...CELL}>
        {live ? formatCpu(server.cpuPercent) : NOTHING}
      </div>
      <div className="num" {...CELL}>
        <Bytes value={server.memoryBytes} />
      </div>
      <div className="num second" {...CELL}>
        <Age ms={age} />
      </div>
    </>
  );
});

interface LeftoverProps {
  readonly leftover: Leftover;
  readonly phase: string | null;
  readonly gone: boolean;
  readonly age: number;
  readonly home: string;
}

/** The cells of a leftover's row: a leaked process without a server. */
export const LeftoverCells = memo(function LeftoverCells({ leftover, phase, gone, age, home }: LeftoverProps) {
  const owner = `of PID ${leftover.ofPid}`;
  return (
    <>
      <StandingCell glyph="leaked" word={gone ? 'Gone' : 'Leftover'} phase={gone ? null : phase} />
      <div className="what" {...CELL}>
        <span className="clip kind">{leftover.name}</span>
        <span className="port faint">PID {leftover.pid}</span>
        {leftover.directory === null ? null : <Path path={shortenPath(leftover.directory, home)} />}
      </div>
      <div className="second col-owner" {...CELL} title={`${leftover.kind}, PID ${leftover.ofPid}, is gone`}>
        {owner}
      </div>
      <div className="num second" {...CELL}>
        {NOTHING}
      </div>
      <div className="num second col-cpu" {...CELL}>
        {NOTHING}
      </div>
      <div className="num" {...CELL}>
        <Bytes value={leftover.rssBytes} />
      </div>
      <div className="num second" {...CELL}>
        <Age ms={age} />
      </div>
    </>
  );
});
