import type { HostEntry, Roll } from '../../app/roll/schema.ts';
import { formatBytes, formatCpu, plural } from '../../app/roll/words.ts';
import { useActs, useRollcall, useWindow } from '../state/context.tsx';
import { hostStateWords } from '../view/serverItems.ts';
import { Glyph } from './Glyph.tsx';
import type { GlyphName } from './shapes.ts';

const STATE_SHAPES: Readonly<Record<HostEntry['state'], GlyphName>> = {
  connected: 'on',
  connecting: 'turn',
  authenticating: 'ask',
  reconnecting: 'turn',
  disconnected: 'off',
  failed: 'fault',
  unsupported: 'fault',
};

function HostShape({ host }: { readonly host: HostEntry }) {
  if (host.name === 'local' && host.state === 'connected') return <Glyph name="computer" />;
  const trouble = host.state !== 'connected' && host.state !== 'disconnected';
  return (
    <Glyph
      name={STATE_SHAPES[host.state]}
      tone={trouble ? 'suspect' : 'quiet'}
      turning={STATE_SHAPES[host.state] === 'turn'}
    />
  );
}

/** What is known of a machine, as the tooltip of its line. */
function hostTooltip(host: HostEntry): string {
  const parts = [`${host.hostname}, ${hostStateWords(host.state)}`];
  if (host.detail !== null) parts.push(host.detail);
  if (host.cpuPercent !== null) parts.push(`CPU ${formatCpu(host.cpuPercent)} %`);
  if (host.memoryUsedBytes !== null && host.memoryTotalBytes !== null) {
    parts.push(`Memory ${formatBytes(host.memoryUsedBytes).text} of ${formatBytes(host.memoryTotalBytes).text}`);
  }
  if (host.load1 !== null) parts.push(`Load ${host.load1.toFixed(2)}`);
  parts.push(`${plural(host.counted, 'process', 'processes')} looked at`);
  return parts.join('\n');
}

interface LineProps {
  readonly name: string;
  readonly shape: React.ReactNode;
  readonly leaked: number;
  readonly figure: string;
  readonly tooltip: string;
  readonly chosen: boolean;
  readonly onChoose: () => void;
}

function HostLine(props: LineProps) {
  return (
    <li>
      <button
        type="button"
        className="host"
        title={props.tooltip}
        aria-current={props.chosen ? 'page' : undefined}
        onClick={props.onChoose}
      >
        <span className="host-state">{props.shape}</span>
        <span className="host-name clip">{props.name}</span>
        {props.leaked === 0 ? null : (
          <span className="host-leaked">
            <Glyph name="leaked" tone="leaked" />
            {props.leaked}
            <span className="unseen"> leaked</span>
          </span>
        )}
        <span className="host-figure">{props.figure}</span>
      </button>
    </li>
  );
}

/** The hosts, one line each, and the way to the settings. */
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
    store.setState({ host, ...(view === 'settings' ? { view: 'servers' as const } : {}) });
  const single = roll.hosts.length === 1;
  const all = counts(null);

  return (
    <nav className="side" aria-label="Hosts">
      <h2 className="side-title">Hosts</h2>
      <ul className="hosts">
        {single ? null : (
          <HostLine
            name="All hosts"
            shape={<Glyph name="all" />}
            leaked={all.leaked}
            figure={String(all.all)}
            tooltip={plural(roll.hosts.length, 'host')}
            chosen={view !== 'settings' && chosen === null}
            onChoose={() => choose(null)}
          />
        )}
        {single ? null : <li className="gap" />}
        {roll.hosts.map((host) => {
          const { all: servers, leaked } = counts(host.name);
          return (
            <HostLine
              key={host.id}
              name={host.name}
              shape={<HostShape host={host} />}
              leaked={leaked}
              figure={host.state === 'disconnected' ? 'off' : String(servers)}
              tooltip={hostTooltip(host)}
              chosen={view !== 'settings' && (chosen === host.name || single)}
              onChoose={() => choose(single ? null : host.name)}
            />
          );
        })}
      </ul>
      <button
        type="button"
        className="host"
        aria-current={view === 'settings' ? 'page' : undefined}
        onClick={() => acts.show('settings')}
      >
        <span className="host-state">
          <Glyph name="sliders" />
        </span>
        <span className="host-name clip">Settings</span>
      </button>
    </nav>
  );
}
