import { type FormEvent, useId, useRef, useState } from 'react';
import type { Question } from '../../app/roll/schema.ts';
import { pathTail } from '../../app/text/words.ts';
import { Button } from '../components/parts.tsx';
import { DialogShell } from './DialogShell.tsx';
import { type QuestionProps, TimeLeft } from './QuestionParts.tsx';

interface Words {
  readonly title: string;
  readonly field: string;
  readonly wrong: string;
  /** Whose words are shown: a server can write whatever it likes into its prompt, also that ssh asks. */
  readonly asks: string;
}

function wordsOf({ type, host, keyPath }: Question): Words {
  if (type === 'passphrase') {
    const key = keyPath === null ? 'the key' : pathTail(keyPath);
    const wrong = 'That passphrase did not open the key.';
    return { title: `Passphrase for ${key}`, field: 'Passphrase', wrong, asks: 'ssh' };
  }
  if (type === 'code') {
    return { title: `One-time code for ${host}`, field: 'Code', wrong: 'That code was not taken.', asks: host };
  }
  return { title: `Password for ${host}`, field: 'Password', wrong: `${host} did not take that password.`, asks: host };
}

/** A password, passphrase or one-time code. It is in the field and nowhere else, and leaves that with the answer. */
export function SecretQuestion({ question, after, onAnswer }: QuestionProps) {
  const field = useRef<HTMLInputElement>(null);
  const [empty, setEmpty] = useState(true);
  const id = useId();
  const { title, field: label, wrong, asks } = wordsOf(question);
  const again = question.attempt > 1;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const input = field.current;
    if (input === null || input.value === '') return;
    const answer = input.value;
    input.value = '';
    onAnswer(answer);
  };
  return (
    <DialogShell
      title={title}
      lead={
        question.type === 'passphrase'
          ? `${question.host} would accept this key; it is locked.`
          : `${question.host} asks for it. Rollcall hands it to ssh and keeps nothing of it.`
      }
      onClose={() => onAnswer(null)}
      footer={
        <>
          <TimeLeft question={question} after={after} />
          <Button onClick={() => onAnswer(null)}>Cancel</Button>
          <Button look="primary" submit form={`${id}-form`} disabled={empty}>
            Continue
          </Button>
        </>
      }
    >
      <form id={`${id}-form`} className="form" onSubmit={submit}>
        <div>
          <label className="label" htmlFor={id}>
            {label}
          </label>
          <div className="field">
            <input
              ref={field}
              id={id}
              type="password"
              autoComplete="off"
              spellCheck={false}
              data-first
              aria-describedby={`${id}-asked`}
              aria-invalid={again}
              onChange={(event) => setEmpty(event.target.value === '')}
            />
          </div>
          {again ? (
            <p className="field-problem" role="alert">
              {wrong} Attempt {question.attempt}.
            </p>
          ) : null}
        </div>
        <p className="note asked" id={`${id}-asked`}>
          {asks} asks: {question.text.trim()}
        </p>
      </form>
    </DialogShell>
  );
}
