import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import type { Bridge } from '../app/roll/channels.ts';
import { App } from './components/App.tsx';
import { ErrorBoundary } from './components/ErrorBoundary.tsx';
import { createActs } from './state/actions.ts';
import { RollcallContext } from './state/context.tsx';
import { connectNavigation } from './state/navigation.ts';
import { createWindowStore, type WindowStore } from './state/store.ts';

/** Puts the window into an element and mirrors the roll that comes over the bridge. */
export function mount(element: HTMLElement, bridge: Bridge): WindowStore {
  const store = createWindowStore();
  const acts = createActs(store, bridge);
  connectNavigation(store, acts, bridge);
  createRoot(element).render(
    <StrictMode>
      <RollcallContext value={{ store, acts }}>
        <ErrorBoundary>
          <App />
        </ErrorBoundary>
      </RollcallContext>
    </StrictMode>,
  );
  return store;
}
