import { type KeyboardEvent, useRef } from 'react';
import { findTyped, type Typed, typeLetter } from '../view/typeahead.ts';

/** What a key asks of the row that is active. */
export type RowKey = 'enter' | 'end' | 'open' | 'copy' | 'menu';

interface Request {
  /** Keys of the selectable rows, in order. */
  readonly keys: readonly string[];
  /** What typing is matched against, per row. */
  readonly names: () => readonly (readonly string[])[];
  readonly active: string | null;
  /** Rows that fit on a page. */
  readonly page: () => number;
  readonly onMove: (key: string) => void;
  readonly onRowKey: (key: string, what: RowKey) => void;
}

/** Where a moving key leads, as an index; null for a key that does not move. */
export function moveIndex(key: string, index: number, count: number, page: number): number | null {
  if (count === 0) return null;
  const clamp = (to: number): number => Math.min(count - 1, Math.max(0, to));
  switch (key) {
    case 'ArrowDown':
      return clamp(index + 1);
    case 'ArrowUp':
      return index < 0 ? 0 : clamp(index - 1);
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    case 'PageDown':
      return clamp(Math.max(0, index) + page);
    case 'PageUp':
      return clamp(index - page);
    default:
      return null;
  }
}

type Chord = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey'>;

/** What a key asks of the active row; null for every other key. */
export function rowKey(event: Chord): RowKey | null {
  const command = event.ctrlKey || event.metaKey;
  if (event.altKey) return null;
  if (command) {
    if (event.key === 'o') return 'open';
    return event.key === 'c' ? 'copy' : null;
  }
  if (event.key === 'Enter') return 'enter';
  if (event.key === 'Delete') return 'end';
  return event.key === 'ContextMenu' || (event.shiftKey && event.key === 'F10') ? 'menu' : null;
}

/** The keyboard of a list: one tab stop, arrows move, typing finds, the rest acts on the active row. */
export function useGridKeys(request: Request): (event: KeyboardEvent) => void {
  const typed = useRef<Typed>({ text: '', at: 0 });
  return (event) => {
    const { keys, active } = request;
    const index = active === null ? -1 : keys.indexOf(active);
    const command = event.ctrlKey || event.metaKey || event.altKey;
    const to = command ? null : moveIndex(event.key, index, keys.length, request.page());
    if (to !== null) {
      event.preventDefault();
      const key = keys[to];
      if (key !== undefined) request.onMove(key);
      return;
    }
    const what = rowKey(event);
    if (what !== null && active !== null) {
      // Text that the person has marked is what Ctrl+C means.
      if (what === 'copy' && String(getSelection()) !== '') return;
      event.preventDefault();
      request.onRowKey(active, what);
      return;
    }
    if (command || event.key.length !== 1 || event.key === '/' || (event.key === ' ' && typed.current.text === ''))
      return;
    typed.current = typeLetter(typed.current, event.key, Date.now());
    const found = findTyped(request.names(), typed.current.text, index);
    const key = keys[found];
    if (key !== undefined) request.onMove(key);
  };
}
