import { useRef } from 'react';
import { useWindow } from '../state/context.tsx';
import { type Held, holdOrder } from '../view/hold.ts';

/**
 * Keeps rows in their place while the pointer is in the list, a dialog is open or `alsoHeld` says so.
 *
 * @param choice what the person chose to see, as one text: a change of it takes effect at once
 */
export function useFrozenOrder<Item extends { readonly key: string }>(
  fresh: readonly Item[],
  choice: string,
  alsoHeld = false,
): Held<Item> {
  const held = useWindow((state) => state.pointerInList || state.dialog !== null);
  const shown = useRef<{ choice: string; items: readonly Item[] }>({ choice, items: [] });
  const list = holdOrder(shown.current.items, fresh, (held || alsoHeld) && shown.current.choice === choice);
  shown.current = { choice, items: list.items };
  return list;
}

/** What the footer says of rows that wait; empty when none does. */
export function waitingWords(waiting: number): string {
  if (waiting === 0) return '';
  return `${waiting} new when the pointer leaves the list`;
}
