import { isAbsolute } from 'node:path';
import { executableOnDisk, fileName, interpreterOf, invocationOf, optionValue, portOf } from './argv.ts';
import type { CustomKind, Recognisable, Recognition } from './kind.ts';

/** A file name also stands for itself with `.exe`, as programs are called on Windows. */
function isProgram(path: string, program: string): boolean {
  if (isAbsolute(program)) return path === program;
  const name = fileName(path);
  return name === program || name === `${program}.exe`;
}

/** Recognises a kind that a person defined: its program, then its arguments in exactly these positions. */
export function recogniseCustom(custom: CustomKind, process: Recognisable): Recognition | null {
  const invocation = invocationOf(process);
  if (invocation === null) return null;
  const executable = process.executablePath === null ? null : executableOnDisk(process.executablePath);
  const byExecutable = invocation.interpreter === null && executable !== null && isProgram(executable, custom.program);
  if (!byExecutable) {
    if (!isProgram(invocation.program, custom.program)) return null;
    // An interpreter that only titles itself with the program's name runs something else.
    const titled = invocation.interpreter === null && executable !== null && interpreterOf(executable) !== null;
    if (titled || invocation.rewritten) return null;
  }
  if (custom.args.some((arg, index) => invocation.args[index] !== arg)) return null;
  return {
    kind: custom.name,
    role: 'server',
    declaredPort: portOf(optionValue(invocation.args, '--port')),
    transport: 'tcp',
    registeredService: false,
    subject: null,
    helper: false,
  };
}
