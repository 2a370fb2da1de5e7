import type { CoreHandle } from './io.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Makes Ctrl-C, SIGTERM and a hangup close a core of this process before they end it: an ssh that it has started would
 * outlive it. A second one ends it at once.
 *
 * @param onClosed called once it is closed after a signal; never returns
 */
export function closingFirst(handle: CoreHandle, onClosed: () => void): CoreHandle {
  let closed: Promise<void> | null = null;
  // Whoever closes second must wait for the first: the process ends after either.
  const close = (): Promise<void> => {
    closed ??= handle.close();
    return closed;
  };
  const onSignal = (): void => {
    void close().then(onClosed, onClosed);
  };
  for (const signal of SIGNALS) process.once(signal, onSignal);
  return {
    ...handle,
    async close() {
      await close();
      for (const signal of SIGNALS) process.removeListener(signal, onSignal);
    },
  };
}
