import type { Roll } from '../../app/roll/schema.ts';
import { listed, plural } from '../../app/roll/words.ts';
import { useActs } from '../state/context.tsx';
import { Glyph } from './Glyph.tsx';
import { Button } from './parts.tsx';

/** What was looked at and not found, in one or two sentences. */
export function lookedWords(roll: Roll): string {
  const looked = roll.hosts.filter((host) => host.lookedAt !== null);
  if (looked.length === 0) return 'Rollcall takes its first look now.';
  const counted = looked.reduce((sum, host) => sum + host.counted, 0);
  const where = listed(looked.map((host) => host.name));
  const records = roll.records.length === 0 ? ' and no record of one' : '';
  return `Rollcall looked at ${plural(counted, 'process', 'processes')} on ${where} and found no agent server${records}. It keeps looking.`;
}

/** Nobody on the roll: says what was looked at, and offers what can be started here. */
export function FirstRun({ roll }: { readonly roll: Roll }) {
  const acts = useActs();
  return (
    <div className="page">
      <div className="hello">
        <h1>Nobody on the roll yet</h1>
        <p className="hello-lead">{lookedWords(roll)}</p>
        {roll.startable.length === 0 ? null : (
          <>
            <h2>
              Start a server here
              <span>stops when Rollcall quits, unless you say otherwise</span>
            </h2>
            <ul>
              {roll.startable.map((kind) => (
                <li key={kind.kind} className="startable">
                  <Glyph name={kind.available ? 'check' : 'dash'} tone="quiet" />
                  <span>{kind.kind}</span>
                  <span className={kind.available ? 'clip second' : 'second'} title={kind.detail}>
                    {kind.detail}
                  </span>
                  {kind.available ? (
                    <Button
                      aria-label={`Start ${kind.kind}…`}
                      onClick={() => acts.ask({ type: 'start', kind: kind.kind })}
                    >
                      Start…
                    </Button>
                  ) : null}
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
    </div>
  );
}
