import { createContext, useContext } from 'react';
import { useStore } from 'zustand';
import type { WindowActions } from './actions.ts';
import type { WindowState, WindowStore } from './store.ts';

export interface Rollcall {
  readonly store: WindowStore;
  readonly acts: WindowActions;
}

export const RollcallContext = createContext<Rollcall | null>(null);

/** The store and the acts; only inside the window's provider. */
export function useRollcall(): Rollcall {
  const value = useContext(RollcallContext);
  if (value === null) throw new Error('This component is outside the RollcallContext');
  return value;
}

/** A part of the window's state; renders again only when that part changes. */
export function useWindow<T>(selector: (state: WindowState) => T): T {
  return useStore(useRollcall().store, selector);
}

export function useActs(): WindowActions {
  return useRollcall().acts;
}
