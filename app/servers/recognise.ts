import { invocationOf } from './argv.ts';
import { recogniseClaude } from './claude.ts';
import { recogniseCodex } from './codex.ts';
import { recogniseCustom } from './custom.ts';
import type { CustomKind, Recognisable, Recognition } from './kind.ts';
import { mayBeServer } from './may-be-server.ts';
import { FORKS, recogniseFork } from './opencode.ts';
import { recogniseT3 } from './t3.ts';

/**
 * What a process is, or null when it is no server of a known kind. Built-in kinds come first, so that a custom kind
 * cannot take one over. Pure; decides by argv positions and executable, never by a substring.
 */
export function recognise(process: Recognisable, custom: readonly CustomKind[]): Recognition | null {
  if (!mayBeServer(process, custom)) return null;
  // Worked out once for all kinds: a look asks this of every process of the machine.
  const invocation = invocationOf(process);
  if (invocation === null) return null;
  for (const fork of FORKS) {
    const found = recogniseFork(fork.name, process, invocation);
    if (found !== null) return found;
  }
  const found =
    recogniseT3(process, invocation) ?? recogniseCodex(process, invocation) ?? recogniseClaude(process, invocation);
  if (found !== null) return found;
  for (const kind of custom) {
    const own = recogniseCustom(kind, process, invocation);
    if (own !== null) return own;
  }
  return null;
}
