import { type FormEvent, useId, useState } from 'react';
import type { Failure } from '../../app/roll/commands.ts';
import type { Roll } from '../../app/roll/schema.ts';
import { aliasOf, shownSuggestions } from '../../app/text/host-words.ts';
import { Button } from '../components/parts.tsx';
import { useActs } from '../state/context.tsx';
import type { HostForm } from '../state/store.ts';
import { DialogShell } from './DialogShell.tsx';
import { HostPicker } from './HostPicker.tsx';
import { CheckBox, FailureNote } from './parts.tsx';

/** What is wrong with a name for a host, as a sentence; null when nothing is. */
export function nameProblem(roll: Pick<Roll, 'hosts'>, name: string, was: string | null): string | null {
  if (name === '' || name === was) return null;
  if (/\s/u.test(name)) return 'A name has no blanks.';
  const other = roll.hosts.find((host) => host.name === name);
  if (other === undefined || other.ssh?.saved === false) return null;
  return other.ssh === null
    ? `${name} is the name of this machine. Choose another.`
    : `There is a host ${name} already. Choose another name.`;
}

/** Adds a host, or changes one: which, under what name, and whether it connects by itself. */
export function HostFormDialog({ roll, form }: { readonly roll: Roll; readonly form: HostForm | null }) {
  const acts = useActs();
  const [alias, setAlias] = useState(form?.alias ?? '');
  const [typedName, setName] = useState(form === null || form.name === form.alias ? '' : form.name);
  const [atStart, setAtStart] = useState(form === null || form.connect === 'at-start');
  const [saving, setSaving] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const nameId = useId();
  const formId = `${nameId}-form`;
  const was = form?.was ?? null;
  const edits = was !== null;
  const given = alias.trim();
  const name = typedName.trim() === '' ? given : typedName.trim();
  const problem = nameProblem(roll, name, was);
  const wanted: HostForm = { name, alias: aliasOf(given), connect: atStart ? 'at-start' : 'when-asked', was };
  const connected = roll.hosts.some(({ ssh, state }) => ssh?.alias === wanted.alias && state === 'connected');
  const ready = given !== '' && problem === null && !saving;

  const save = async (): Promise<void> => {
    setSaving(true);
    const result = await acts.saveHost(wanted);
    setSaving(false);
    if (result.ok) acts.closeDialog();
    else setFailure(result.failure);
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!ready) return;
    if (edits || connected) void save();
    else acts.addHost(wanted);
  };
  return (
    <DialogShell
      title={edits ? `Edit ${was}` : 'Add a host'}
      onClose={acts.closeDialog}
      footer={
        <>
          <span className="note">
            <Button look="link" disabled={!ready} onClick={() => acts.testHost({ ...wanted, was })}>
              Test
            </Button>
          </span>
          <Button onClick={acts.closeDialog}>Cancel</Button>
          <Button look="primary" submit form={formId} disabled={!ready}>
            {edits ? 'Save' : connected ? 'Add host' : 'Connect'}
          </Button>
        </>
      }
    >
      <form id={formId} className="form" onSubmit={submit}>
        <HostPicker
          offered={edits ? roll.offered : shownSuggestions(roll)}
          value={alias}
          disabled={saving}
          onChange={(value) => {
            setAlias(value);
            setFailure(null);
          }}
        />
        <div>
          <label className="label" htmlFor={nameId}>
            Name
          </label>
          <div className="field">
            <input
              id={nameId}
              type="text"
              spellCheck={false}
              placeholder={given === '' ? 'As it is called in the list' : given}
              value={typedName}
              disabled={saving}
              onChange={(event) => setName(event.target.value)}
            />
          </div>
          {problem === null ? null : <p className="field-problem">{problem}</p>}
        </div>
        <CheckBox checked={atStart} disabled={saving} onChange={setAtStart} label="Connect when Rollcall starts">
          <span>Connect when Rollcall starts</span>
        </CheckBox>
      </form>
      {failure === null ? null : <FailureNote failure={failure} />}
    </DialogShell>
  );
}
