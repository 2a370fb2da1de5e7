import { type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { ActItem } from '../view/serverActs.ts';
import type { Point } from './Grid.tsx';

interface Props<A extends string> {
  readonly label: string;
  readonly items: readonly ActItem<A>[];
  readonly point: Point;
  readonly onPick: (act: A) => void;
  readonly onClose: () => void;
}

const MARGIN = 8;

/** The menu of a row, at a point of the window. What cannot be done stays in it, with the sentence that says why. */
export function Menu<A extends string>({ label, items, point, onPick, onClose }: Props<A>) {
  const menu = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState(point);

  useLayoutEffect(() => {
    const box = menu.current?.getBoundingClientRect();
    if (box === undefined) return;
    setPlace({
      x: Math.max(MARGIN, Math.min(point.x, innerWidth - box.width - MARGIN)),
      y: Math.max(MARGIN, Math.min(point.y, innerHeight - box.height - MARGIN)),
    });
  }, [point]);

  const before = useRef<Element | null>(null);
  useEffect(() => {
    before.current = document.activeElement;
    menu.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus();
  }, []);
  /** Closes, with the focus where it was: a dialog that is opened next hands it back there. */
  const close = (): void => {
    if (before.current instanceof HTMLElement) before.current.focus({ preventScroll: true });
    onClose();
  };

  useEffect(() => {
    const outside = (event: PointerEvent): void => {
      if (event.target instanceof Node && menu.current?.contains(event.target) === false) onClose();
    };
    addEventListener('pointerdown', outside, true);
    addEventListener('blur', onClose);
    return () => {
      removeEventListener('pointerdown', outside, true);
      removeEventListener('blur', onClose);
    };
  }, [onClose]);

  const onKeyDown = (event: KeyboardEvent): void => {
    const entries = [...(menu.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
    const focused = document.activeElement;
    const index = focused instanceof HTMLElement ? entries.indexOf(focused) : -1;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    event.stopPropagation();
    if (event.key === 'Escape' || event.key === 'Tab') {
      event.preventDefault();
      close();
    } else if (step !== undefined) {
      event.preventDefault();
      entries[(index + step + entries.length) % entries.length]?.focus();
    } else if (event.key === 'Home' || event.key === 'End') {
      event.preventDefault();
      entries.at(event.key === 'Home' ? 0 : -1)?.focus();
    }
  };

  return (
    <div
      className="menu"
      role="menu"
      tabIndex={-1}
      aria-label={label}
      ref={menu}
      style={{ left: place.x, top: place.y }}
      onKeyDown={onKeyDown}
    >
      {items.map((item) => (
        <button
          key={item.act}
          type="button"
          role="menuitem"
          tabIndex={-1}
          className="menu-item"
          aria-disabled={item.refusal !== null}
          onClick={() => {
            if (item.refusal !== null) return;
            close();
            onPick(item.act);
          }}
        >
          <span>{item.label}</span>
          {item.refusal === null ? null : <small>{item.refusal}</small>}
        </button>
      ))}
    </div>
  );
}
