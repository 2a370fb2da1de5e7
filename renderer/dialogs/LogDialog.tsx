import { useEffect, useRef, useState } from 'react';
import type { RequestResult } from '../../app/roll/channels.ts';
import type { Ended } from '../../app/roll/schema.ts';
import { endedCause } from '../../app/text/ended-words.ts';
import { shortenPath } from '../../app/text/words.ts';
import { Button } from '../components/parts.tsx';
import { useActs } from '../state/context.tsx';
import { DialogShell } from './DialogShell.tsx';

/** What a server that ended wrote last. It writes no more, so the log is read once. */
export function LogDialog({ ended, home }: { readonly ended: Ended; readonly home: string }) {
  const acts = useActs();
  const [log, setLog] = useState<RequestResult<'log.read'> | null>(null);
  const end = useRef<HTMLElement>(null);
  useEffect(() => {
    let current = true;
    void acts.readLog(ended.nonce).then((answer) => {
      if (current) setLog(answer);
    });
    return () => {
      current = false;
    };
  }, [acts, ended.nonce]);
  useEffect(() => {
    // What it said last stands at the end.
    if (log !== null) end.current?.scrollTo({ top: end.current.scrollHeight });
  }, [log]);
  const settled = log !== null && log.path === null;
  const path = log?.path ?? ended.logPath;
  return (
    <DialogShell
      title={`Log of ${ended.label}`}
      lead={ended.state === 'planned' ? undefined : `PID ${ended.pid}. ${endedCause(ended)}`}
      wide
      onClose={acts.closeDialog}
      footer={
        <>
          <span className="note clip" title={path ?? undefined}>
            {path === null ? '' : shortenPath(path, home)}
          </span>
          {settled ? null : <Button onClick={() => acts.openLog(ended.nonce)}>Open log</Button>}
          <Button data-first onClick={acts.closeDialog}>
            Close
          </Button>
        </>
      }
    >
      {log === null ? <p className="note">Reading…</p> : null}
      {settled ? <p className="note">It is not on the list any more; the log is still in its place.</p> : null}
      {log !== null && !settled && log.text.trim() === '' ? <p className="note">It wrote nothing.</p> : null}
      {log !== null && log.text.trim() !== '' ? (
        // Scrolls by itself, so the keyboard must reach it.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
        <section className="log-whole" aria-label="Log" ref={end} tabIndex={0}>
          <pre className="log wrap">{log.text.trimEnd()}</pre>
        </section>
      ) : null}
    </DialogShell>
  );
}
