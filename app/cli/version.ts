import { readFileSync } from 'node:fs';

/** Where the package's own description is: one folder above the bundle, two above this source. */
const PLACES = ['../package.json', '../../package.json'] as const;

/** This program's version, as its package says; `0.0.0` where the bundle stands alone. */
export function programVersion(): string {
  for (const place of PLACES) {
    try {
      const said: unknown = JSON.parse(readFileSync(new URL(place, import.meta.url), 'utf8'));
      if (typeof said !== 'object' || said === null || !('name' in said) || said.name !== 'rollcall') continue;
      if ('version' in said && typeof said.version === 'string') return said.version;
    } catch {
      // Not there: the next place is.
    }
  }
  return '0.0.0';
}
