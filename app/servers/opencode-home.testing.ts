import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What opencode installs into its folder of settings at the first request that loads a project: 64 MB, from the net. */
const PLUGIN = '@opencode-ai/plugin';

/**
 * Environment that keeps an `opencode` to folders below `root`, which are made, and off the network. Its HOME is not
 * among them: where an ssh session starts it, the account says what that is.
 */
export function opencodeFolders(root: string): Record<string, string> {
  const env: Record<string, string> = {
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  };
  for (const name of ['config', 'data', 'state', 'cache']) {
    const path = join(root, `opencode-${name}`);
    mkdirSync(path, { recursive: true });
    env[`XDG_${name.toUpperCase()}_HOME`] = path;
  }
  // It installs nothing where a lock file says that everything is there.
  const settings = join(root, 'opencode-config', 'opencode');
  mkdirSync(join(settings, 'node_modules'), { recursive: true });
  const lock = { packages: { '': { dependencies: { [PLUGIN]: '*' } } } };
  writeFileSync(join(settings, 'package-lock.json'), JSON.stringify(lock));
  return env;
}
