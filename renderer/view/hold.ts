/** Nothing moves under the hand: while a list is held, rows keep their place, and what is new waits. */

export interface Held<Item> {
  readonly items: readonly Item[];
  /** Keys that are in `items` only because they were shown when they went. */
  readonly gone: ReadonlySet<string>;
  /** How many new rows wait until the hand leaves. */
  readonly waiting: number;
}

/**
 * The items to show: `fresh` as they are, or, while `held`, those of `shown` in their old order, each with its newest
 * content. A row that went stays in its place, marked as gone, so that nothing slides under the pointer.
 */
export function holdOrder<Item extends { readonly key: string }>(
  shown: readonly Item[],
  fresh: readonly Item[],
  held: boolean,
): Held<Item> {
  if (!held || shown.length === 0) return { items: fresh, gone: new Set(), waiting: 0 };
  const byKey = new Map(fresh.map((item) => [item.key, item]));
  const gone = new Set<string>();
  const items = shown.map((item) => {
    const newest = byKey.get(item.key);
    if (newest === undefined) gone.add(item.key);
    byKey.delete(item.key);
    return newest ?? item;
  });
  return { items, gone, waiting: byKey.size };
}
