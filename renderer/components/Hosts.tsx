import type { Roll } from '../../app/roll/schema.ts';
import { plural } from '../../app/text/words.ts';
import { useActs, useRollcall, useWindow } from '../state/context.tsx';
import { Glyph } from './Glyph.tsx';
import { HostLine, SideLine } from './HostLine.tsx';
import { Button } from './parts.tsx';

/** The hosts, one line each, the way to add one, and the way to the settings. */
export function Hosts({ roll }: { readonly roll: Roll }) {
  const { store } = useRollcall();
  const acts = useActs();
  const chosen = useWindow((state) => state.host);
  const view = useWindow((state) => state.view);
  const counts = (host: string | null) => {
    const servers = roll.servers.filter((server) => host === null || server.host === host);
    return { all: servers.length, leaked: servers.filter((server) => server.standing === 'leaked').length };
  };
  const choose = (host: string | null): void =>
    store.setState({ host, scope: null, ...(view === 'settings' ? { view: 'servers' as const } : {}) });
  const single = roll.hosts.length === 1;
  const all = counts(null);

  return (
    <nav className="side" aria-label="Hosts">
      <header className="side-head">
        <h2 className="side-title">Hosts</h2>
        <Button
          look="icon"
          aria-label="Add a host…"
          title="Add a host (Ctrl+N)"
          onClick={() => acts.ask({ type: 'host-form', form: null })}
        >
          <Glyph name="plus" />
        </Button>
      </header>
      <ul className="hosts">
        {single ? null : (
          <li>
            <SideLine
              name="All hosts"
              shape={<Glyph name="all" />}
              leaked={all.leaked}
              figure={String(all.all)}
              tooltip={plural(roll.hosts.length, 'host')}
              chosen={view !== 'settings' && chosen === null}
              onChoose={() => choose(null)}
            />
          </li>
        )}
        {single ? null : <li className="gap" />}
        {roll.hosts.map((host) => {
          const { all: servers, leaked } = counts(host.name);
          return (
            <li key={host.id}>
              <HostLine
                host={host}
                servers={servers}
                leaked={leaked}
                chosen={view !== 'settings' && (chosen === host.name || single)}
                onChoose={() => choose(single ? null : host.name)}
              />
            </li>
          );
        })}
      </ul>
      <SideLine
        name="Settings"
        shape={<Glyph name="sliders" />}
        leaked={0}
        figure=""
        tooltip="Settings (Ctrl+,)"
        chosen={view === 'settings'}
        onChoose={() => acts.show('settings')}
      />
    </nav>
  );
}
