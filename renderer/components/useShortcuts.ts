import { type RefObject, useEffect } from 'react';
import { useRollcall } from '../state/context.tsx';
import { select } from '../state/store.ts';
import { VIEWS } from './Toolbar.tsx';

export type Shortcut = 'filter' | 'look' | 'settings' | 'add-host' | 'escape' | { readonly tab: number };

type Chord = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>;

/** What a key means anywhere in the window; null when it means nothing there. `typing` is true in a text field. */
export function shortcut(event: Chord, typing: boolean): Shortcut | null {
  if (event.altKey) return null;
  if (event.ctrlKey || event.metaKey) {
    if (/^[1-4]$/u.test(event.key)) return { tab: Number(event.key) - 1 };
    return ({ f: 'filter', r: 'look', n: 'add-host', ',': 'settings' } as const)[event.key.toLowerCase()] ?? null;
  }
  if (event.key === 'Escape') return 'escape';
  return event.key === '/' && !typing ? 'filter' : null;
}

/** The keys that work everywhere; a dialog or menu that is open keeps them to itself. */
export function useShortcuts(filterField: RefObject<HTMLInputElement | null>): void {
  const { store, acts } = useRollcall();
  useEffect(() => {
    const stepBack = (): void => {
      const state = store.getState();
      if (state.filter !== '') store.setState({ filter: '' });
      else if (state.scope !== null) store.setState({ scope: null });
      else if (state.problem !== null) acts.showError(null);
      else if (state.view !== 'settings') select(store, state.view, null);
    };
    const onKeyDown = (event: KeyboardEvent): void => {
      // Questions of ssh open by themselves, beside the dialog that the window knows of.
      if (event.defaultPrevented || document.querySelector('dialog[open]') !== null) return;
      const typing = event.target instanceof HTMLInputElement;
      const meaning = shortcut(event, typing);
      if (meaning === null) return;
      event.preventDefault();
      if (meaning === 'filter') {
        if (store.getState().view === 'settings') acts.show('servers');
        filterField.current?.focus();
        filterField.current?.select();
      } else if (meaning === 'look') acts.look();
      else if (meaning === 'add-host') acts.ask({ type: 'host-form', form: null });
      else if (meaning === 'settings') acts.show('settings');
      else if (meaning === 'escape') stepBack();
      else {
        const tab = VIEWS[meaning.tab];
        if (tab !== undefined) acts.show(tab.view);
      }
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [store, acts, filterField]);
}
