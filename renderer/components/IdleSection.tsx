import { useId } from 'react';
import type { Server } from '../../app/roll/schema.ts';
import { minuteTime } from '../../app/text/words.ts';
import { useActs } from '../state/context.tsx';
import { idleChoices, idleWords } from '../view/idle.ts';
import { Section } from './DetailParts.tsx';
import { Button } from './parts.tsx';

/** After how many idle minutes a server of ours is stopped, and, once that is announced, the way to keep it. */
export function IdleSection({ server }: { readonly server: Server }) {
  const acts = useActs();
  const id = useId();
  if (server.supervised === null) return null;
  const { idleMinutes, idleStopAt } = server.supervised;
  return (
    <Section title="When it is idle">
      <div className="choice">
        <label htmlFor={id}>Stop when idle for</label>
        <div className="field field-choice choice-field">
          <select
            id={id}
            value={idleMinutes ?? ''}
            onChange={(event) => acts.setIdle(server.id, event.target.value === '' ? null : Number(event.target.value))}
          >
            <option value="">never</option>
            {idleChoices(idleMinutes).map((minutes) => (
              <option key={minutes} value={minutes}>
                {idleWords(minutes)}
              </option>
            ))}
          </select>
        </div>
      </div>
      {idleStopAt === null ? null : (
        <div className="offer">
          <p className="note">
            Stops at {minuteTime(idleStopAt)}
            {idleMinutes === null ? '' : `, idle for ${idleWords(idleMinutes)}`}.
          </p>
          <Button onClick={() => acts.keepAwake(server.id)}>Keep running</Button>
        </div>
      )}
    </Section>
  );
}
