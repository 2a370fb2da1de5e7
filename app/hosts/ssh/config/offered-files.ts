/** The real files behind the hosts that are offered. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expandGlob } from './include-glob.ts';
import { hostSuggestions, type OfferedHost } from './offered.ts';

/** Longer files are no configuration a person wrote, and others (a pipe, a device) may never end. */
const MAX_FILE = 4_000_000;
const MAX_MATCHES = 256;

/**
 * Hosts of this person's SSH configuration and known_hosts. Never throws: what cannot be read offers nothing.
 *
 * @param sshConfig another configuration file, whose hosts alone are offered then; null for the person's own
 */
export function hostsOnDisk(home: string, sshConfig: string | null): readonly OfferedHost[] {
  const ssh = join(home, '.ssh');
  return hostSuggestions({
    home,
    configFile: sshConfig ?? join(ssh, 'config'),
    knownHostsFiles: sshConfig === null ? [join(ssh, 'known_hosts'), '/etc/ssh/ssh_known_hosts'] : [],
    readFile: readText,
    glob: matching,
  });
}

function readText(path: string): string | null {
  try {
    const stats = statSync(path);
    return stats.isFile() && stats.size <= MAX_FILE ? readFileSync(path, 'utf8') : null;
  } catch {
    return null; // missing, or not ours to read
  }
}

function matching(pattern: string): readonly string[] {
  try {
    return expandGlob(pattern).slice(0, MAX_MATCHES);
  } catch {
    return []; // brackets that make no range match nothing
  }
}
