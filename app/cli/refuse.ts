import { type ExitCode, FAILED, type Io } from './io.ts';
import { printable } from './table.ts';

/** Says why nothing was done, to the person and, where scripts asked, to them. */
export async function refuse(io: Io, json: boolean, message: string): Promise<ExitCode> {
  io.say(printable(message));
  if (json) await io.out(`${JSON.stringify({ ok: false, message }, null, 2)}\n`);
  return FAILED;
}
