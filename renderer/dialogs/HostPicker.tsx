import { type KeyboardEvent, useId, useState } from 'react';
import type { Offered } from '../../app/roll/schema.ts';
import { plural } from '../../app/text/words.ts';

/** As many as are seen at once; typing narrows the rest. */
export const SHOWN_LIMIT = 6;

const FROM: Readonly<Record<Offered['from'], string>> = { config: 'ssh config', 'known-hosts': 'known hosts' };

/** Those that what is typed occurs in; those that begin with it first, else in the order they stand there. */
export function matching(offered: readonly Offered[], typed: string): readonly Offered[] {
  const wanted = typed.trim().toLowerCase();
  const found = offered.filter(({ alias }) => alias.toLowerCase().includes(wanted));
  const begins = ({ alias }: Offered): boolean => alias.toLowerCase().startsWith(wanted);
  return [...found.filter(begins), ...found.filter((host) => !begins(host))];
}

/** A name with the part that was typed in bold. */
function Marked({ text, part }: { readonly text: string; readonly part: string }) {
  const at = part === '' ? -1 : text.toLowerCase().indexOf(part.toLowerCase());
  if (at < 0) return <span className="clip">{text}</span>;
  return (
    <span className="clip">
      {text.slice(0, at)}
      <b>{text.slice(at, at + part.length)}</b>
      {text.slice(at + part.length)}
    </span>
  );
}

interface Props {
  readonly offered: readonly Offered[];
  readonly value: string;
  readonly disabled: boolean;
  readonly onChange: (value: string) => void;
}

/** The host's alias: typed, or chosen from what ssh knows already. */
export function HostPicker({ offered, value, disabled, onChange }: Props) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const found = matching(offered, value);
  const shown = found.slice(0, SHOWN_LIMIT);
  const exact = found.length === 1 && found[0]?.alias === value.trim();
  const listed = open && shown.length > 0 && !exact;
  const current = listed ? shown[active] : undefined;

  const take = (alias: string): void => {
    onChange(alias);
    setOpen(false);
    setActive(-1);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      setOpen(true);
      const step = event.key === 'ArrowDown' ? 1 : -1;
      setActive(Math.max(-1, Math.min(shown.length - 1, active + step)));
    } else if (event.key === 'Enter' && current !== undefined) {
      event.preventDefault();
      take(current.alias);
    } else if (event.key === 'Escape' && listed) {
      // Closes the list; a second one the dialog.
      event.preventDefault();
      event.stopPropagation();
      setOpen(false);
    }
  };
  return (
    <div>
      <label className="label" htmlFor={id}>
        Host
      </label>
      <div className="field">
        <input
          id={id}
          type="text"
          role="combobox"
          aria-expanded={listed}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={current === undefined ? undefined : `${id}-${active}`}
          autoComplete="off"
          spellCheck={false}
          placeholder="An alias, or user@host:port"
          value={value}
          disabled={disabled}
          data-first
          onKeyDown={onKeyDown}
          onFocus={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onChange={(event) => {
            onChange(event.target.value);
            setOpen(true);
            setActive(-1);
          }}
        />
      </div>
      {listed ? (
        <div className="offered">
          <div role="listbox" id={`${id}-list`} aria-label="Hosts that ssh knows">
            {shown.map((host, index) => (
              // The keys belong to the field; the pointer may choose too.
              <div
                key={host.alias}
                id={`${id}-${index}`}
                role="option"
                tabIndex={-1}
                className="offered-line"
                aria-selected={index === active}
                // Before the field loses the focus and the list goes.
                onPointerDown={(event) => {
                  event.preventDefault();
                  take(host.alias);
                }}
              >
                <Marked text={host.alias} part={value.trim()} />
                <span className="faint">{FROM[host.from]}</span>
              </div>
            ))}
          </div>
          <div className="offered-foot">
            <span>
              {found.length > shown.length
                ? `${shown.length} of ${plural(found.length, 'host')}`
                : `${found.length} of ${plural(offered.length, 'host')}`}
            </span>
            <span>↑ ↓ to choose, Enter to take it</span>
          </div>
        </div>
      ) : null}
    </div>
  );
}
