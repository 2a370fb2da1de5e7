import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual';
import { type MouseEvent, type ReactNode, useCallback, useEffect, useMemo, useRef } from 'react';
import { useRollcall, useWindow } from '../state/context.tsx';
import { type GridOrder, gridOrder } from '../view/gridOrder.ts';
import { CELL, gridRole, ROW, ROW_GROUP, rowRole } from './parts.tsx';
import { type RowKey, useGridKeys } from './useGridKeys.ts';

const ROW_HEIGHT = 28;
/** A group's head and the space above it. */
const GROUP_HEIGHT = 30;

interface GroupLike {
  readonly type: 'group';
  readonly key: string;
  readonly title: string;
  readonly note: string;
  readonly figure: string;
}
interface RowLike {
  readonly type: string;
  readonly key: string;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

interface Props<Item extends RowLike> {
  readonly label: string;
  /** Class that sets the columns of head and rows. */
  readonly columns: string;
  readonly head: ReactNode;
  readonly items: readonly (Item | GroupLike)[];
  readonly selected: string | null;
  readonly onSelect: (key: string) => void;
  readonly cells: (item: Item) => ReactNode;
  /** More classes of a row: `past`, `foreign`. */
  readonly rowClass: (item: Item) => string;
  readonly names: (item: Item) => readonly string[];
  readonly onRowKey: (item: Item, what: Exclude<RowKey, 'enter'>, point: Point) => void;
}

function isGroup(item: RowLike): item is GroupLike {
  return item.type === 'group';
}

function GroupHead({ group }: { readonly group: GroupLike }) {
  return (
    <div className="group-head" {...CELL}>
      <b>{group.title}</b>
      <span className="clip">{group.note}</span>
      <span className="group-figure">{group.figure}</span>
    </div>
  );
}

/**
 * A virtualised list of one-line rows under sticky group heads: `role="grid"`, one tab stop, one row with
 * `tabindex="0"`. Only the rows in view exist, and the active one.
 */
export function Grid<Item extends RowLike>(props: Props<Item>) {
  const { items, selected } = props;
  const { store } = useRollcall();
  const focused = useWindow((state) => state.focused);
  const scroller = useRef<HTMLDivElement>(null);
  const focusNext = useRef<string | null>(null);

  const last = useRef<GridOrder | null>(null);
  last.current = gridOrder(last.current, items);
  const order = last.current;
  const keys = order.rows;
  const active = selected !== null && order.placeOf.has(selected) ? selected : (keys[0] ?? null);
  const activeIndex = active === null ? -1 : order.all.indexOf(active);

  const rangeExtractor = useCallback(
    (range: Range) => {
      const sticky = order.groups.findLast((index) => index <= range.startIndex);
      const extra = [activeIndex, sticky ?? -1].filter((index) => index >= 0);
      return [...new Set([...extra, ...defaultRangeExtractor(range)])].sort((a, b) => a - b);
    },
    [activeIndex, order],
  );
  const heightAt = useMemo(() => {
    const groups = new Set(order.groups);
    return (index: number): number => (groups.has(index) ? GROUP_HEIGHT : ROW_HEIGHT);
  }, [order.groups]);
  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: heightAt,
    getItemKey: useCallback((index: number) => order.all[index] ?? index, [order]),
    overscan: 8,
    rangeExtractor,
    scrollPaddingStart: GROUP_HEIGHT,
    paddingEnd: 6,
    initialRect: { width: 600, height: 600 },
  });
  // Heights depend on where the groups stand, so where those move all is measured anew.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the heights are what the measures depend on
  useEffect(() => virtualizer.measure(), [heightAt, virtualizer]);

  const rowElement = (key: string): HTMLElement | null =>
    scroller.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(key)}"]`) ?? null;
  useEffect(() => {
    const key = focusNext.current;
    if (key === null) return;
    const element = scroller.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(key)}"]`);
    if (element == null) return;
    focusNext.current = null;
    element.focus({ preventScroll: true });
  });

  useEffect(() => {
    const leave = (): void => store.setState({ pointerInList: false });
    document.addEventListener('visibilitychange', leave);
    return () => {
      document.removeEventListener('visibilitychange', leave);
      leave();
    };
  }, [store]);

  const move = (key: string): void => {
    focusNext.current = key;
    virtualizer.scrollToIndex(order.all.indexOf(key));
    props.onSelect(key);
    rowElement(key)?.focus({ preventScroll: true });
  };
  const rows = (): readonly Item[] => items.filter((item): item is Item => !isGroup(item));
  const itemOf = (key: string): Item | undefined => rows().find((row) => row.key === key);

  const onKeyDown = useGridKeys({
    keys,
    names: () => rows().map(props.names),
    active,
    page: () => Math.max(1, Math.floor((scroller.current?.clientHeight ?? ROW_HEIGHT) / ROW_HEIGHT) - 1),
    onMove: move,
    onRowKey: (key, what) => {
      const item = itemOf(key);
      if (item === undefined) return;
      props.onSelect(key);
      if (what === 'enter') return document.getElementById('details')?.focus();
      const box = rowElement(key)?.getBoundingClientRect();
      props.onRowKey(item, what, { x: (box?.left ?? 0) + 24, y: box?.bottom ?? 0 });
    },
  });

  const onContextMenu = (event: MouseEvent, item: Item): void => {
    event.preventDefault();
    // The menu key reports no button; the row's own corner is the place then.
    props.onSelect(item.key);
    props.onRowKey(item, 'menu', { x: event.clientX, y: event.clientY });
  };

  const virtualItems = virtualizer.getVirtualItems();
  const start = virtualizer.range?.startIndex ?? 0;
  const stickyIndex = order.groups.findLast((index) => index <= start) ?? -1;

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: its role, grid, comes with the other attributes
    <div
      className="table"
      {...gridRole(props.label, keys.length)}
      onKeyDown={onKeyDown}
      onPointerEnter={() => store.setState({ pointerInList: true })}
      onPointerLeave={() => store.setState({ pointerInList: false })}
    >
      {props.head}
      <div className={`rows ${focused ? '' : 'unfocused'}`} ref={scroller} {...ROW_GROUP} tabIndex={-1}>
        <div className="rows-space" {...ROW_GROUP} style={{ height: virtualizer.getTotalSize() }}>
          {virtualItems.map((virtual) => {
            const item = items[virtual.index];
            if (item === undefined) return null;
            if (isGroup(item)) {
              const sticky = virtual.index === stickyIndex;
              return (
                <div
                  key={item.key}
                  className={`group ${props.columns} ${sticky ? 'sticky' : ''}`}
                  {...ROW}
                  style={sticky ? {} : { transform: `translateY(${virtual.start}px)` }}
                >
                  <GroupHead group={item} />
                </div>
              );
            }
            return (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the grid around it handles the keys of all rows
              // biome-ignore lint/a11y/noStaticElementInteractions: its role, row, comes with the other attributes
              <div
                key={item.key}
                data-row={item.key}
                className={`row ${props.columns} ${props.rowClass(item)}`}
                {...rowRole((order.placeOf.get(item.key) ?? 0) + 1, item.key === selected)}
                tabIndex={item.key === active ? 0 : -1}
                style={{ transform: `translateY(${virtual.start}px)` }}
                onClick={() => props.onSelect(item.key)}
                onFocus={() => props.onSelect(item.key)}
                onContextMenu={(event) => onContextMenu(event, item)}
              >
                {props.cells(item)}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
