/** What a list's keyboard and heights depend on: who stands where. The contents of the rows are no part of it. */
export interface GridOrder {
  /** Keys of everything in the list, heads of groups too. */
  readonly all: readonly string[];
  /** Keys of the rows. */
  readonly rows: readonly string[];
  /** Place of each row among the rows, from 0. */
  readonly placeOf: ReadonlyMap<string, number>;
  /** Places of the heads of groups in the whole list; the same object as long as none of them moves. */
  readonly groups: readonly number[];
}

interface Item {
  readonly type: string;
  readonly key: string;
}

/**
 * The order of a list; the very object of `before` where nothing moved. A long list whose rows only change then costs
 * no new measures, and one look at each key.
 */
export function gridOrder(before: GridOrder | null, items: readonly Item[]): GridOrder {
  if (before !== null && isSame(before, items)) return before;
  const rows = items.filter(({ type }) => type !== 'group').map(({ key }) => key);
  const groups = items.flatMap(({ type }, index) => (type === 'group' ? [index] : []));
  const stay =
    before !== null && groups.length === before.groups.length && groups.every((at, n) => at === before.groups[n]);
  return {
    all: items.map(({ key }) => key),
    rows,
    placeOf: new Map(rows.map((key, place) => [key, place])),
    groups: stay ? before.groups : groups,
  };
}

function isSame({ all, rows, groups }: GridOrder, items: readonly Item[]): boolean {
  return (
    all.length === items.length &&
    items.every(({ key }, index) => key === all[index]) &&
    items.length - rows.length === groups.length &&
    groups.every((index) => items[index]?.type === 'group')
  );
}
