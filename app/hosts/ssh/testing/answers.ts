/** A remote account that answers as it is told. */
import type { ExecResult, RemoteExec } from '../contract.ts';

/** Frames these parts with the marker of whatever script it is asked to run. */
export function answering(parts: Readonly<Record<string, string>>, status = 0): RemoteExec {
  return {
    exec: async (input): Promise<ExecResult> => {
      const marker = /rollcall-[0-9a-f]{32}/u.exec(String(input))?.[0] ?? '';
      const sections = Object.entries({ begin: '', ...parts }).map(([name, text]) => `\n${marker} ${name}\n${text}`);
      return { stdout: Buffer.from(`${sections.join('')}\n${marker} end ${status}\n`), stderr: '', code: status };
    },
  };
}
