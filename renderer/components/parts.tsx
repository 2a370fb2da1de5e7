/** Small pieces that every view uses: numbers with their unit's slot, paths, buttons. */
import { type ComponentProps, type ReactNode, useEffect, useState } from 'react';
import { columnAgeParts, formatBytes, pathHead, pathTail } from '../../app/text/words.ts';

/** Roles of a virtualised grid, whose rows are positioned one by one and therefore cannot be table elements. */
export const ROW_GROUP = { role: 'rowgroup' } as const;
export const ROW = { role: 'row' } as const;
export const CELL = { role: 'gridcell' } as const;
export const COLUMN_HEAD = { role: 'columnheader' } as const;

export function gridRole(label: string, rows: number) {
  return { role: 'grid', 'aria-label': label, 'aria-rowcount': rows } as const;
}

/** `index` counts from 1. */
export function rowRole(index: number, selected: boolean) {
  return { role: 'row', 'aria-rowindex': index, 'aria-selected': selected } as const;
}

export function columnRole(sort: 'ascending' | 'descending' | 'none') {
  return { role: 'columnheader', 'aria-sort': sort } as const;
}

/** Bytes with the unit in its own slot, so that digits line up. */
export function Bytes({ value }: { readonly value: number }) {
  const { digits, unit } = formatBytes(value);
  return (
    <>
      {digits}
      <u className="unit">{unit}</u>
    </>
  );
}

/** An age whose second unit goes when the list is narrow. */
export function Age({ ms }: { readonly ms: number }) {
  const { major, minor } = columnAgeParts(ms);
  return (
    <>
      {major}
      {minor === '' ? null : <span className="minor"> {minor}</span>}
    </>
  );
}

/** A path that loses its middle: its head shrinks, its last part stays. The whole is in the tooltip. */
export function Path({ path }: { readonly path: string }) {
  const head = pathHead(path);
  const slashed = head.endsWith('/');
  return (
    <span className="path" title={path}>
      <span className="path-head">{slashed ? head.slice(0, -1) : head}</span>
      <span className="path-tail">
        {slashed ? <span className="path-slash">/</span> : null}
        {pathTail(path)}
      </span>
    </span>
  );
}

type ButtonProps = Omit<ComponentProps<'button'>, 'type' | 'className'> & {
  readonly look?: 'plain' | 'icon' | 'primary' | 'danger' | 'link';
  readonly submit?: boolean;
};

export function Button({ look, submit = false, children, ...rest }: ButtonProps & { readonly children: ReactNode }) {
  const classes = look === 'link' ? 'link' : `button ${look ?? ''}`;
  return (
    <button type={submit ? 'submit' : 'button'} className={classes} {...rest}>
      {children}
    </button>
  );
}

/** The present, renewed every `everyMs` milliseconds; null renews nothing. */
export function useNow(everyMs: number | null): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (everyMs === null) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
