/** How the servers of this run behave. Each mood is a folder; the program that is started there reads it. */
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Fake, installFake } from '../app/supervisor/testing/fake-opencode.ts';

interface Mood {
  readonly weight: number;
  readonly fake: Fake;
  /**
   * `shim`: a wrapper that waits for the real one and does not hand signals on; `vanish`: a wrapper that ends at once,
   * and whose PID goes to a stranger in the same moment.
   */
  readonly wrapper?: 'shim' | 'vanish';
}

export const MOODS: Readonly<Record<string, Mood>> = {
  plain: { weight: 6, fake: {} },
  tool: { weight: 4, fake: { tool: true } },
  helper: { weight: 3, fake: { helper: true } },
  'tool-and-helper': { weight: 2, fake: { tool: true, helper: true } },
  swallow: { weight: 2, fake: { swallow: 1 } },
  stubborn: { weight: 1, fake: { swallow: -1, tool: true } },
  busy: { weight: 1, fake: { busy: true, tool: true } },
  crash: { weight: 3, fake: { crashAfter: 1500, tool: true } },
  leave: { weight: 2, fake: { leaveAfter: 1500, helper: true } },
  refuses: { weight: 1, fake: { exit: 3 } },
  'cut-off': { weight: 2, fake: { cutOff: ['sleep 400'] } },
  shim: { weight: 4, fake: { tool: true }, wrapper: 'shim' },
  'shim-helper': { weight: 2, fake: { helper: true, swallow: 1 }, wrapper: 'shim' },
  vanish: { weight: 3, fake: {}, wrapper: 'vanish' },
};

const PROGRAM = `#!/bin/bash
export FAKE=$(<fake.json)
case $(<wrapper) in
  vanish) echo $$ >"$CHAOS_DOOMED"; exit 1 ;;
  shim) "$CHAOS_REAL" "$@" & wait; exit $? ;;
  *) exec "$CHAOS_REAL" "$@" ;;
esac
`;

export interface Installed {
  /** The program to start in a mood's folder. */
  readonly program: string;
  /** The fake server itself. */
  readonly real: string;
  /** Folder of each mood. */
  readonly folders: Readonly<Record<string, string>>;
}

export function installMoods(root: string): Installed {
  const real = installFake(join(root, 'real'));
  const program = join(root, 'bin', 'opencode');
  mkdirSync(join(root, 'bin'));
  writeFileSync(program, PROGRAM);
  chmodSync(program, 0o755);
  const folders: Record<string, string> = {};
  for (const [name, { fake, wrapper }] of Object.entries(MOODS)) {
    const folder = join(root, 'moods', name);
    mkdirSync(folder, { recursive: true });
    copyFileSync(join(root, 'real', 'serve'), join(folder, 'serve'));
    writeFileSync(join(folder, 'fake.json'), JSON.stringify(fake));
    writeFileSync(join(folder, 'wrapper'), wrapper ?? 'exec');
    folders[name] = folder;
  }
  return { program, real, folders };
}
