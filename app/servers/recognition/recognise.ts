import type { CustomKind, Recognisable, Recognised, Recognition } from '../kind.ts';
import { recogniseClaude } from '../kinds/claude.ts';
import { recogniseCodex } from '../kinds/codex.ts';
import { recogniseCustom } from '../kinds/custom.ts';
import { FORKS, recogniseFork } from '../kinds/opencode.ts';
import { recogniseT3 } from '../kinds/t3.ts';
import { invocationOf } from './argv.ts';
import { mayBeServer } from './may-be-server.ts';

const OTHER: Recognised = { state: 'other' };

/**
 * What a process is. Evidence that is missing never counts as agreement: without its program nothing is a server, for
 * any program can be started under any name (`exec -a opencode tail serve`). Pure.
 */
export function recognise(process: Recognisable, custom: readonly CustomKind[]): Recognised {
  if (!mayBeServer(process, custom)) return OTHER;
  const recognition = matchKinds(process, custom);
  if (process.executablePath === null) return { state: 'unproved', claims: recognition };
  return recognition === null ? OTHER : { state: 'server', recognition };
}

/**
 * The first kind that fits. Built-in kinds come first, so that a custom kind cannot take one over. Decides by argv
 * positions and executable, never by a substring.
 */
function matchKinds(process: Recognisable, custom: readonly CustomKind[]): Recognition | null {
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
