import type { HostEntry, Server } from '../../app/roll/schema.ts';
import { isLost, isReachable } from '../../app/text/host-words.ts';
import { Facts, Section } from './DetailParts.tsx';

function portOf(url: string | null): string | null {
  if (url === null) return null;
  try {
    return new URL(url).port;
  } catch {
    // An address that cannot be read has no port to show; opening it says why.
    return null;
  }
}

/** Where a server on another host is used from here: the near end of its tunnel, and where that leads. */
export function Tunnel({ server, host }: { readonly server: Server; readonly host: HostEntry | undefined }) {
  const [listening] = server.listening;
  if (host === undefined || host.ssh === null || listening === undefined) return null;
  const port = portOf(server.url);
  const open = isReachable(host) && port !== null;
  return (
    <Section title="Tunnel" figure={open ? null : 'closed'}>
      <Facts
        facts={[
          ['Local port', port === null ? '–' : open ? `127.0.0.1:${port}` : `${port}, closed`],
          ['Leads to', `${server.host} :${listening.port}`],
          ...(isLost(host) ? [['When back', 'Reopens on the same port'] as const] : []),
        ]}
      />
    </Section>
  );
}
