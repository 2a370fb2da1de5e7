import { useEffect, useState } from 'react';
import type { CommandResult, Failure } from '../../app/roll/commands.ts';
import type { HostEntry, Roll } from '../../app/roll/schema.ts';
import {
  failureTitle,
  foundWords,
  hostNamed,
  hostStatus,
  keyChanged,
  sharedSentence,
} from '../../app/text/host-words.ts';
import { useRetryClock } from '../components/HostLine.tsx';
import { Button } from '../components/parts.tsx';
import { useActs, useRollcall } from '../state/context.tsx';
import type { HostSteps } from '../state/store.ts';
import { DialogShell } from './DialogShell.tsx';
import { KeyChangedDialog } from './KeyChangedDialog.tsx';
import { FailureNote } from './parts.tsx';
import { StepList } from './StepList.tsx';

/** The answer of an attempt, once it is there; null for one that is under way. */
function useAnswer(answer: HostSteps['answer']): CommandResult | null {
  const [settled, setSettled] = useState<{ of: HostSteps['answer']; result: CommandResult } | null>(null);
  useEffect(() => {
    let current = true;
    void answer?.then((result) => {
      if (current) setSettled({ of: answer, result });
    });
    return () => {
      current = false;
    };
  }, [answer]);
  return settled !== null && settled.of === answer ? settled.result : null;
}

type Phase = 'running' | 'failed' | 'done';

/** Where an attempt stands: by its own answer, or by what the roll says where nobody here asked for it. */
export function phaseOf(steps: HostSteps, result: CommandResult | null, host: HostEntry | null): Phase {
  if (steps.answer !== null) return result === null ? 'running' : result.ok ? 'done' : 'failed';
  if (host === null) return 'done';
  if (host.state === 'failed' || host.state === 'unsupported') return 'failed';
  return host.state === 'connected' || host.state === 'disconnected' ? 'done' : 'running';
}

function titleOf(steps: HostSteps, phase: Phase, name: string, host: HostEntry | null): string {
  if (phase === 'running')
    return { add: `Adding ${name}`, test: `Testing ${name}`, show: `Connecting to ${name}` }[steps.purpose];
  if (phase === 'done') return steps.purpose === 'show' ? `Steps to ${name}` : `${name} is connected`;
  if (steps.purpose === 'add' && host?.ssh?.saved !== true) return `${name} could not be added`;
  return host === null ? `${name} could not be connected` : failureTitle(host);
}

interface FailedProps {
  readonly host: HostEntry | null;
  readonly failure: Failure | null;
}

/** Why an attempt failed: beside its step, or below where it got to none. */
function Outcome({ host, failure }: FailedProps) {
  const ssh = host?.ssh ?? null;
  const beside = ssh !== null && ssh.failure !== null && ssh.steps.some(({ state }) => state === 'failed');
  const told = ssh?.failure ?? null;
  const below: Failure | null =
    beside && (failure === null || failure.message === told?.message)
      ? null
      : (failure ?? (told === null ? null : { ...told, detail: null }));
  return (
    <>
      {ssh === null ? null : <StepList ssh={ssh} withFailure />}
      {below === null ? null : <FailureNote failure={{ ...below, detail: null }} />}
    </>
  );
}

/** The steps of connecting to a host, live; then what came of them, and the way on. */
export function HostStepsDialog({ steps, roll }: { readonly steps: HostSteps; readonly roll: Roll }) {
  const { store } = useRollcall();
  const acts = useActs();
  const result = useAnswer(steps.answer);
  const [raw, setRaw] = useState(false);
  const host = hostNamed(roll, steps.host);
  const now = useRetryClock(host ?? { ssh: null });
  const phase = phaseOf(steps, result, host);
  const name = steps.form?.name ?? host?.name ?? steps.host;
  const { form, purpose } = steps;
  const added = phase === 'done' && purpose === 'add';
  const unsaved = form !== null && form.was === null && host?.ssh?.saved !== true;

  useEffect(() => {
    if (!added) return;
    acts.closeDialog();
    acts.show('servers');
    if (store.getState().roll?.hosts.some((entry) => entry.name === name)) store.setState({ host: name });
  }, [added, acts, store, name]);

  if (phase === 'failed' && host !== null && keyChanged(host)) return <KeyChangedDialog host={host} />;
  const failure = result?.ok === false ? result.failure : null;
  const output = host?.ssh?.failure?.output ?? failure?.detail ?? null;
  /** What was only tried is not kept. */
  const leave = (): void => {
    const cancelled = phase === 'running' && purpose !== 'show';
    const tried = phase !== 'running' && purpose !== 'show' && unsaved;
    if ((cancelled || tried) && host !== null) acts.disconnectHost(host.name);
    acts.closeDialog();
  };
  const keep = async (): Promise<void> => {
    if (form === null) return;
    const saved = await acts.saveHost(form);
    if (saved.ok) acts.closeDialog();
    else acts.showError(saved.failure);
  };
  const lead =
    phase === 'done' && host !== null && host.state === 'connected'
      ? `${foundWords(roll, host)}. ${sharedSentence(host) ?? ''}`.trim()
      : phase === 'running' && host !== null && purpose === 'show'
        ? hostStatus(host, now)
        : undefined;
  return (
    <DialogShell
      title={titleOf(steps, phase, name, host)}
      {...(lead === undefined ? {} : { lead })}
      onClose={leave}
      footer={
        <>
          <span className="note">
            {phase === 'failed' && output !== null ? (
              <Button look="link" aria-expanded={raw} onClick={() => setRaw(!raw)}>
                {raw ? 'Hide ssh output' : 'Show ssh output'}
              </Button>
            ) : null}
          </span>
          <Button onClick={leave} {...(phase === 'failed' ? {} : { 'data-first': true })}>
            {phase === 'running' && purpose !== 'show' ? 'Cancel' : 'Close'}
          </Button>
          {phase === 'failed' ? (
            <Button look="primary" data-first onClick={() => acts.tryAgain(steps)}>
              Try again
            </Button>
          ) : null}
          {phase === 'done' && purpose === 'test' && unsaved ? (
            <Button look="primary" onClick={() => void keep()}>
              Add host
            </Button>
          ) : null}
        </>
      }
    >
      {phase === 'failed' ? (
        <Outcome host={host} failure={failure} />
      ) : (
        <StepList ssh={{ steps: host?.ssh?.steps ?? [], failure: null }} withFailure={false} />
      )}
      {raw && output !== null ? <pre className="log wrap steps-output">{output.trimEnd()}</pre> : null}
    </DialogShell>
  );
}
