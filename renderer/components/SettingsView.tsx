import type { ReactNode } from 'react';
import type { Roll } from '../../app/roll/schema.ts';
import { sentenceAge, shortenPath } from '../../app/text/words.ts';
import { useActs, useWindow } from '../state/context.tsx';
import { Glyph } from './Glyph.tsx';
import { Button } from './parts.tsx';

function Group({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="settings-group">
      <h2>{title}</h2>
      <div>{children}</div>
    </section>
  );
}

interface LineProps {
  readonly label: string;
  readonly note?: string;
  readonly children: ReactNode;
}

function Line({ label, note, children }: LineProps) {
  return (
    <div className="settings-line">
      <div>
        {label}
        {note === undefined ? null : <small>{note}</small>}
      </div>
      <div className="settings-value">{children}</div>
    </div>
  );
}

function PathLine({ label, path, home, note }: { label: string; path: string; home: string; note?: string }) {
  const acts = useActs();
  return (
    <Line label={label} {...(note === undefined ? {} : { note })}>
      <span className="clip" title={path}>
        {shortenPath(path, home)}
      </span>
      <Button onClick={() => acts.copy(path)} aria-label={`Copy path of ${label.toLowerCase()}`}>
        Copy path
      </Button>
    </Line>
  );
}

/** What the configuration file says, and where everything is kept. Changing it is done in the file. */
export function SettingsView({ roll, home }: { readonly roll: Roll; readonly home: string }) {
  const acts = useActs();
  const info = useWindow((state) => state.info);
  const { settings } = roll;
  const signalling = [...new Map(roll.hosts.map((host) => [host.signalling.method, host.signalling])).values()];
  return (
    <div className="page">
      <div className="settings">
        <Group title="Configuration">
          <Line label="Settings live in one file" note="A change of the file takes effect when it is saved.">
            <span className="clip" title={settings.configPath}>
              {shortenPath(settings.configPath, home)}
            </span>
            <Button onClick={acts.openConfig}>Open configuration file</Button>
          </Line>
          {settings.configProblem === null ? null : (
            <p className="settings-problem" role="alert">
              <Glyph name="fault" tone="suspect" />
              <span>{settings.configProblem}</span>
            </p>
          )}
        </Group>
        <Group title="Leaks">
          <Line
            label="Grace period"
            note="How long without owner, client and sign of work before a server counts as leaked: leak.graceSeconds."
          >
            {sentenceAge(settings.graceSeconds * 1000)}
          </Line>
          <Line label="Reaping what is leaked" note="Everything else always asks first: reap.ask.">
            {settings.reapAsk === 'always' ? 'Asks first' : 'One click acts at once'}
          </Line>
        </Group>
        <Group title="When Rollcall quits">
          <Line
            label="Local servers"
            note={
              settings.stopLocalServers
                ? 'One that is marked to keep running stays; see its details: quit.stopLocalServers.'
                : 'Also those that are not marked to keep running: quit.stopLocalServers.'
            }
          >
            {settings.stopLocalServers ? 'Stop with Rollcall' : 'All keep running'}
          </Line>
          <Line label="The tray’s last item">{info?.quitLabel ?? '–'}</Line>
          <Line label="Closing the window">
            {info === null
              ? '–'
              : info.hasTray
                ? 'Keeps Rollcall in the tray'
                : 'Quits Rollcall, because no tray shows it'}
          </Line>
        </Group>
        <Group title="Safety">
          {signalling.map((way) => (
            <Line key={way.method} label="Processes are signalled by" note={way.note}>
              {way.method === 'pidfd' ? 'process handle' : 'proof before each signal'}
            </Line>
          ))}
        </Group>
        <Group title="Kinds">
          {roll.startable.map((kind) => (
            <Line key={kind.kind} label={kind.kind}>
              <span className={kind.available ? 'clip' : undefined} title={kind.detail}>
                {kind.detail}
              </span>
            </Line>
          ))}
        </Group>
        <Group title="Data">
          <PathLine
            label="State"
            path={settings.statePath}
            home={home}
            note="Records, audit, logs, records moved aside"
          />
          {(info?.dataFolders ?? [])
            .filter((folder) => folder.path !== settings.statePath)
            .map((folder) => (
              <PathLine key={folder.path} label={folder.label} path={folder.path} home={home} />
            ))}
          <Line label="Version">{info?.version ?? '–'}</Line>
        </Group>
      </div>
    </div>
  );
}
