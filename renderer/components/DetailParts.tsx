import { type ReactNode, useState } from 'react';
import type { Check, ProcessRow } from '../../app/roll/schema.ts';
import { capitalised } from '../../app/text/words.ts';
import { treeLines } from '../view/processTree.ts';
import { type ActItem, buttonActs } from '../view/serverActs.ts';
import type { GlyphName } from '../view/shapes.ts';
import { Glyph } from './Glyph.tsx';
import type { Point } from './Grid.tsx';
import { Menu } from './Menu.tsx';
import { Button, Bytes } from './parts.tsx';

interface SectionProps {
  readonly title: string;
  /** The one figure or link on the right. */
  readonly figure?: ReactNode;
  readonly children: ReactNode;
}

export function Section({ title, figure = null, children }: SectionProps) {
  return (
    <section className="detail-section">
      <h3>
        {title}
        <span className="detail-figure">{figure}</span>
      </h3>
      {children}
    </section>
  );
}

interface HeadProps<A extends string> {
  readonly shape: ReactNode;
  readonly name: ReactNode;
  /** Second line: standing and place. */
  readonly place: ReactNode;
  readonly label: string;
  readonly acts: readonly ActItem<A>[];
  /** Its name is a title, which may take several lines. */
  readonly long?: boolean;
  /** Those that have a button, on as many lines as they need; the usual three on one where it is left out. */
  readonly buttons?: readonly ActItem<A>[];
  readonly onAct: (act: A) => void;
}

/** Name, standing and place, up to three buttons, and the menu that always holds everything. */
export function DetailHead<A extends string>(props: HeadProps<A>) {
  const { shape, name, place, label, acts, buttons, long = false, onAct } = props;
  const [menu, setMenu] = useState<Point | null>(null);
  // Beside a button that is closed stands the sentence that says why.
  const refusal =
    buttons === undefined
      ? (acts[0]?.refusal ?? null)
      : (buttons.find((item) => item.refusal !== null)?.refusal ?? null);
  return (
    <header className="detail-head">
      <div className="detail-title">
        {shape}
        <h2 className={long ? 'long' : 'clip'}>{name}</h2>
        {acts.length === 0 ? null : (
          <Button
            look="icon"
            aria-label="More"
            aria-haspopup="menu"
            onClick={(event) => {
              const box = event.currentTarget.getBoundingClientRect();
              setMenu({ x: box.left, y: box.bottom + 2 });
            }}
          >
            <Glyph name="more" />
          </Button>
        )}
      </div>
      <p className="detail-place">{place}</p>
      {buttons?.length === 0 ? null : (
        <div className={buttons === undefined ? 'acts' : 'acts acts-all'}>
          {(buttons ?? buttonActs(acts)).map((item) => (
            <Button key={item.act} disabled={item.refusal !== null} onClick={() => onAct(item.act)}>
              {item.label}
            </Button>
          ))}
        </div>
      )}
      {refusal === null ? null : <p className="detail-note">{refusal}</p>}
      {menu === null ? null : (
        <Menu label={label} items={acts} point={menu} onPick={onAct} onClose={() => setMenu(null)} />
      )}
    </header>
  );
}

const CHECK_SHAPES: Readonly<Record<Check['result'], { shape: GlyphName; tone: string; word: string }>> = {
  holds: { shape: 'check', tone: '', word: 'holds' },
  'does-not-hold': { shape: 'cross', tone: 'check-no', word: 'does not hold' },
  'could-not-run': { shape: 'ask', tone: 'suspect', word: 'could not run' },
};

/** One row per check: a tick (holds), a bold cross (does not), an amber ? (could not run), and the fact behind it. */
export function Checklist({ checks }: { readonly checks: readonly Check[] }) {
  return (
    <ul className="checks">
      {checks.map((check) => {
        const look = CHECK_SHAPES[check.result];
        return (
          <li key={check.check}>
            <Glyph name={look.shape} tone={look.tone} />
            <div>
              {check.label}
              <span className="unseen">: {look.word}</span>
              <small>{capitalised(check.fact)}</small>
            </div>
          </li>
        );
      })}
    </ul>
  );
}

/** How many of the checks ran: `6 of 7 checks ran`. */
export function checksRan(checks: readonly Check[]): string {
  const ran = checks.filter((check) => check.result !== 'could-not-run').length;
  return `${ran} of ${checks.length} ${checks.length === 1 ? 'check' : 'checks'} ran`;
}

/** The processes of a server as a tree with PIDs and memory. */
export function ProcessTree({ processes }: { readonly processes: readonly ProcessRow[] }) {
  return (
    <ul className="tree">
      {treeLines(processes).map(({ process, last, args }) => (
        <li key={process.id}>
          <span className="tree-name" title={process.command}>
            {process.depth === 0 ? null : (
              <span
                className={last ? 'branch branch-end' : 'branch'}
                style={{ marginLeft: 2 + 16 * Math.min(process.depth - 1, 4) }}
              />
            )}
            <span>{process.name}</span>
            <span className="clip faint">{args}</span>
          </span>
          <span className="tree-pid">{process.pid}</span>
          <span className="num">
            <Bytes value={process.pssBytes ?? process.rssBytes} />
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Names and values. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
