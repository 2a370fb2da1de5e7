/** The real files behind the hosts that are offered. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type OfferedHost, offeredHosts } from './offered.ts';

/** Longer files are no configuration a person wrote, and others (a pipe, a device) may never end. */
const LONGEST_FILE = 4_000_000;
const MOST_MATCHES = 256;

/**
 * Hosts of this person's SSH configuration and known_hosts. Never throws: what cannot be read offers nothing.
 *
 * @param sshConfig another configuration file, whose hosts alone are offered then; null for the person's own
 */
export function hostsOnDisk(home: string, sshConfig: string | null): readonly OfferedHost[] {
  const ssh = join(home, '.ssh');
  return offeredHosts({
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
    return stats.isFile() && stats.size <= LONGEST_FILE ? readFileSync(path, 'utf8') : null;
  } catch {
    return null; // missing, or not ours to read
  }
}

/** Paths that match an absolute pattern, as glob(7) without its classes: `*`, `?` and brackets within one name. */
function matching(pattern: string): readonly string[] {
  let paths = ['/'];
  for (const part of pattern.split('/').filter((name) => name !== '')) {
    paths = paths.flatMap((folder) => (/[*?[]/u.test(part) ? entries(folder, part) : [join(folder, part)]));
    paths = paths.slice(0, MOST_MATCHES);
  }
  return paths;
}

function entries(folder: string, part: string): readonly string[] {
  const pattern = namePattern(part);
  try {
    // A leading dot is matched by a dot alone.
    const names = readdirSync(folder).filter(
      (name) => pattern.test(name) && !(name.startsWith('.') && part[0] !== '.'),
    );
    return names.sort().map((name) => join(folder, name));
  } catch {
    return []; // no folder
  }
}

function namePattern(part: string): RegExp {
  const source = part.replace(/\[!?[^\]]+\]|[*?]|[\\^$.|+(){}[\]]/gu, (found) => {
    if (found === '*') return '.*';
    if (found === '?') return '.';
    if (found.length === 1) return `\\${found}`;
    const negated = found.startsWith('[!');
    const inside = found.slice(negated ? 2 : 1, -1).replace(/[\\^\]]/gu, '\\$&');
    return `[${negated ? '^' : ''}${inside}]`;
  });
  try {
    return new RegExp(`^${source}$`, 'su');
  } catch {
    return /^$/u; // brackets that make no range match nothing
  }
}
