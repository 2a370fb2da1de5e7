import { useEffect, useState } from 'react';
import type { RequestResult } from '../../app/roll/channels.ts';
import type { Server } from '../../app/roll/schema.ts';
import { useActs } from '../state/context.tsx';
import { Section } from './DetailParts.tsx';
import { Button } from './parts.tsx';

const LINES = 12;
const EVERY_MS = 2000;

/** The last lines of a text, without the empty end. */
export function lastLines(text: string, count: number): readonly string[] {
  return text.replace(/\s+$/u, '').split('\n').slice(-count);
}

/** The end of a supervised server's log, read again while it is shown. */
export function LogSection({ server }: { readonly server: Server }) {
  const acts = useActs();
  const [log, setLog] = useState<RequestResult<'log.read'> | null>(null);
  useEffect(() => {
    let current = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    setLog(null);
    const read = async (): Promise<void> => {
      const answer = await acts.readLog(server.id);
      if (!current) return;
      setLog(answer);
      // A log that could not be read was complained about; asking on would only repeat it.
      if (answer !== null) timer = setTimeout(() => void read(), EVERY_MS);
    };
    void read();
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [acts, server.id]);

  const lines = log === null ? [] : lastLines(log.text, LINES);
  return (
    <Section
      title="Log"
      figure={
        <Button look="link" onClick={() => acts.openServer(server, 'open-log')}>
          Open log
        </Button>
      }
    >
      {log === null || log.text.trim() === '' ? (
        <p className="note">{log === null ? 'Reading…' : 'It has written nothing yet.'}</p>
      ) : (
        <pre className="log">{lines.join('\n')}</pre>
      )}
    </Section>
  );
}
