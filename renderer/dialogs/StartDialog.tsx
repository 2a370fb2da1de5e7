import { type FormEvent, useId, useState } from 'react';
import type { HostEntry, Roll } from '../../app/roll/schema.ts';
import { isReachable, THIS_MACHINE } from '../../app/text/host-words.ts';
import { Glyph } from '../components/Glyph.tsx';
import { Button } from '../components/parts.tsx';
import { useActs, useRollcall, useWindow } from '../state/context.tsx';
import { select } from '../state/store.ts';
import { DialogShell } from './DialogShell.tsx';
import { CheckBox, FailureNote } from './parts.tsx';
import { useRun } from './useRun.ts';

/** A port as typed: null for an empty field, which lets the server choose; NaN for anything that is no port. */
export function parsePort(text: string): number | null {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  const port = Number(trimmed);
  return /^\d{1,5}$/u.test(trimmed) && port >= 1 && port <= 65_535 ? port : Number.NaN;
}

/** The folder as the supervisor takes it: absolute, with `~` spelt out. */
export function absoluteFolder(text: string, home: string): string {
  const trimmed = text.trim();
  if (trimmed === '~') return home;
  return trimmed.startsWith('~/') ? `${home}${trimmed.slice(1)}` : trimmed;
}

/** The hosts that a server can be started on now, each machine once. */
export function startHosts(roll: Pick<Roll, 'hosts'>): readonly HostEntry[] {
  return roll.hosts.filter((host) => isReachable(host) && host.ssh?.sharedWith == null);
}

interface WhereProps {
  readonly hosts: readonly HostEntry[];
  readonly host: string;
  readonly disabled: boolean;
  readonly onHost: (host: string) => void;
}

/** Which host, where there is a choice. */
function Where({ hosts, host, disabled, onHost }: WhereProps) {
  const id = useId();
  if (hosts.length < 2) return null;
  return (
    <div>
      <label className="label" htmlFor={id}>
        Host
      </label>
      <div className="field field-choice">
        <select id={id} value={host} disabled={disabled} onChange={(event) => onHost(event.target.value)}>
          {hosts.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </div>
    </div>
  );
}

interface KindsProps {
  readonly roll: Roll;
  /** Programs on other hosts are looked for when they are started. */
  readonly remote: boolean;
  readonly kind: string;
  readonly disabled: boolean;
  readonly onKind: (kind: string) => void;
}

/** Every kind with where its program is; on another host that is known only once it is started. */
function kindsOn(roll: Roll, remote: boolean): Roll['startable'] {
  if (!remote) return roll.startable;
  return roll.startable.map(({ kind }) => ({ kind, available: true, detail: 'looked for there when it is started' }));
}

/** Kinds to start; one whose program is not there stays, with what to do about it. */
function Kinds({ roll, remote, kind, disabled, onKind }: KindsProps) {
  return (
    <fieldset className="kinds">
      <legend className="label">Kind</legend>
      {kindsOn(roll, remote).map((entry) => (
        <label key={entry.kind} className={entry.available ? 'kind-line' : 'kind-line unavailable'}>
          <input
            type="radio"
            name="kind"
            value={entry.kind}
            checked={entry.kind === kind}
            disabled={disabled || !entry.available}
            data-first={entry.kind === kind ? true : undefined}
            onChange={() => onKind(entry.kind)}
          />
          <span className="radio" />
          <span>{entry.kind}</span>
          <span className={entry.available ? 'clip second' : 'second'} title={entry.detail}>
            {entry.detail}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

interface Props {
  readonly roll: Roll;
  readonly home: string;
  readonly kind: string | null;
}

/** Starts a server of a kind in a folder, and shows its progress until it is ready or says why it is not. */
export function StartDialog({ roll, home, kind: wanted }: Props) {
  const { store } = useRollcall();
  const acts = useActs();
  const run = useRun();
  const hosts = startHosts(roll);
  const shown = useWindow((state) => state.host);
  const [chosenHost, setHost] = useState(shown);
  const host = hosts.find(({ name }) => name === chosenHost)?.name ?? THIS_MACHINE;
  const remote = host !== THIS_MACHINE;
  const kinds = kindsOn(roll, remote);
  const first = kinds.find((entry) => entry.available && (wanted === null || entry.kind === wanted));
  const [chosen, setKind] = useState<string | null>(null);
  // Not fixed when the dialog opens: the programs of some kinds may still be looked for then.
  const picked = kinds.find((entry) => entry.kind === chosen && entry.available);
  const kind = picked?.kind ?? first?.kind ?? kinds.find((entry) => entry.available)?.kind ?? '';
  const [folder, setFolder] = useState(home === '' ? '' : '~');
  const [portText, setPort] = useState('');
  // Servers on other hosts stay when Rollcall quits, unless the person says otherwise.
  const [keep, setKeep] = useState<boolean | null>(null);
  const keepRunning = keep ?? remote;
  const folderId = useId();
  const portId = useId();
  const port = parsePort(portText);
  // `~` on another host is that account's home, which only the host itself can spell out.
  const directory = remote ? folder.trim() : absoluteFolder(folder, home);
  const badPort = Number.isNaN(port);
  const badFolder = remote ? !/^(?:\/|~(?:\/|$))/u.test(directory) : !/^(?:\/|[A-Za-z]:[\\/])/u.test(directory);
  const running = run.phase === 'running';

  const choose = async (): Promise<void> => {
    const path = await acts.chooseFolder(badFolder ? null : directory);
    if (path !== null) setFolder(path);
  };
  const start = async (): Promise<void> => {
    const where = remote ? { host } : {};
    const answer = await run.start(
      { command: 'start', ...where, kind, directory, port, forPid: null, keepRunning },
      { act: 'start', ids: [] },
    );
    if (!answer.ok) return;
    acts.closeDialog();
    acts.show('servers');
    if (shown !== null && shown !== host) store.setState({ host: null });
    if (answer.server !== null) select(store, 'servers', answer.server.id);
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (kind !== '' && !badPort && !badFolder && !running) void start();
  };
  const formId = `${folderId}-form`;
  return (
    <DialogShell
      title="Start a server"
      onClose={acts.closeDialog}
      footer={
        <>
          <span className="note progress-note">
            {running ? (
              <>
                <Glyph name="turn" tone="busy" turning />
                <span className="clip">{run.task?.message ?? `Starting ${kind}…`}</span>
              </>
            ) : null}
          </span>
          <Button onClick={acts.closeDialog} {...(kind === '' ? { 'data-first': true } : {})}>
            {running ? 'Close' : 'Cancel'}
          </Button>
          <Button look="primary" submit form={formId} disabled={kind === '' || badPort || badFolder || running}>
            Start {kind === '' ? 'server' : kind}
          </Button>
        </>
      }
    >
      <form id={formId} className="form" onSubmit={submit}>
        <Where hosts={hosts} host={host} disabled={running} onHost={setHost} />
        <Kinds roll={roll} remote={remote} kind={kind} disabled={running} onKind={setKind} />
        <div>
          <label className="label" htmlFor={folderId}>
            Folder
          </label>
          <div className="field-row">
            <div className="field">
              <input
                id={folderId}
                type="text"
                value={folder}
                disabled={running}
                spellCheck={false}
                onChange={(event) => setFolder(event.target.value)}
              />
            </div>
            {remote ? null : (
              <Button disabled={running} onClick={() => void choose()}>
                Choose…
              </Button>
            )}
          </div>
          {badFolder ? <p className="field-problem">A folder starts with / or ~.</p> : null}
        </div>
        <div>
          <label className="label" htmlFor={portId}>
            Port
          </label>
          <div className="field-row">
            <div className="field field-port">
              <input
                id={portId}
                type="text"
                inputMode="numeric"
                placeholder="any free"
                value={portText}
                disabled={running}
                onChange={(event) => setPort(event.target.value)}
              />
            </div>
            {badPort ? <p className="field-problem">A port is a number from 1 to 65535.</p> : null}
          </div>
        </div>
        <CheckBox checked={keepRunning} disabled={running} onChange={setKeep} label="Keep running when Rollcall quits">
          <span>Keep running when Rollcall quits</span>
        </CheckBox>
      </form>
      {run.result?.ok === false ? <FailureNote failure={run.result.failure} /> : null}
    </DialogShell>
  );
}
