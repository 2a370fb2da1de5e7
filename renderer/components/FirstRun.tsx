import { useState } from 'react';
import type { Offered, Roll } from '../../app/roll/schema.ts';
import { shownSuggestions } from '../../app/text/host-words.ts';
import { listed, plural } from '../../app/text/words.ts';
import { CheckBox } from '../dialogs/parts.tsx';
import { useActs } from '../state/context.tsx';
import { Glyph } from './Glyph.tsx';
import { Button } from './parts.tsx';

/** More than these are found through "Another host…". */
const OFFERED_LIMIT = 6;

/** What was looked at and not found, in one or two sentences. */
export function lookedWords(roll: Roll): string {
  const looked = roll.hosts.filter((host) => host.lookedAt !== null);
  if (looked.length === 0) return 'Rollcall takes its first look now.';
  const counted = looked.reduce((sum, host) => sum + host.counted, 0);
  const where = listed(looked.map((host) => host.name));
  const records = roll.records.length === 0 ? ' and no record of one' : '';
  return `Rollcall looked at ${plural(counted, 'process', 'processes')} on ${where} and found no agent server${records}. It keeps looking.`;
}

/** Hosts of the ssh configuration, to be ticked. None is ticked beforehand: not every host there is one to log in to. */
function OfferedHosts({ offered }: { readonly offered: readonly Offered[] }) {
  const acts = useActs();
  const [picked, setPicked] = useState<readonly string[]>([]);
  const shown = offered.filter(({ from }) => from === 'config').slice(0, OFFERED_LIMIT);
  const chosen = shown.filter(({ alias }) => picked.includes(alias)).map(({ alias }) => alias);
  const [only] = chosen;
  const add = (): void => {
    setPicked([]);
    if (chosen.length === 1 && only !== undefined) {
      acts.addHost({ name: only, alias: only, connect: 'at-start', was: null });
    } else acts.addHosts(chosen);
  };
  return (
    <>
      <h2>
        Hosts in your ssh config
        <span>connecting only looks, it starts and stops nothing</span>
      </h2>
      {shown.length === 0 ? <p className="hello-lead">No host is named there that is not on the list yet.</p> : null}
      <ul>
        {shown.map(({ alias }) => (
          <li key={alias} className="pick-line">
            <CheckBox
              checked={picked.includes(alias)}
              label={alias}
              onChange={(on) => setPicked(on ? [...picked, alias] : picked.filter((other) => other !== alias))}
            >
              <span className="clip">{alias}</span>
            </CheckBox>
          </li>
        ))}
      </ul>
      <div className="hello-after">
        {shown.length === 0 ? null : (
          <Button look="primary" disabled={chosen.length === 0} onClick={add}>
            {chosen.length === 0 ? 'Add hosts' : `Add ${plural(chosen.length, 'host')}`}
          </Button>
        )}
        <Button look="link" onClick={() => acts.ask({ type: 'host-form', form: null })}>
          Another host…
        </Button>
      </div>
    </>
  );
}

/** Nobody on the roll: says what was looked at, and offers hosts to add and what can be started here. */
export function FirstRun({ roll }: { readonly roll: Roll }) {
  const acts = useActs();
  return (
    <div className="page">
      <div className="hello">
        <h1>Nobody on the roll yet</h1>
        <p className="hello-lead">{lookedWords(roll)}</p>
        <OfferedHosts offered={shownSuggestions(roll)} />
        {roll.startable.length === 0 ? null : (
          <>
            <h2>
              Or start a server here
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
