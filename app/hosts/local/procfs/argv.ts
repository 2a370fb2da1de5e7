import { createHash } from 'node:crypto';

/**
 * Arguments from the raw bytes of `/proc/PID/cmdline`, decoded for people: bytes that are no UTF-8 become U+FFFD.
 *
 * A process may overwrite the area with a title of its own. The kernel then gives one text, padded with NULs or
 * blanks, or not ended by a NUL at all; it stays one argument, for blanks inside it do not separate anything.
 */
export function decodeArgv(raw: Buffer): string[] {
  if (raw.length === 0) return [];
  const ended = raw[raw.length - 1] === 0 ? raw.subarray(0, -1) : raw;
  const parts = ended.toString('utf8').split('\0');
  // Two parts are left alone: one empty argument after the program is more likely than a padding of one byte.
  const isTitle = parts.length !== 2 && parts.slice(1).every((part) => part === '');
  if (!isTitle) return parts;
  const title = parts[0] ?? '';
  return title === '' && parts.length > 1 ? parts : [title.trimEnd()];
}

/** Hex sha256 of the raw argv bytes: the evidence that is compared (the decoded form is not one to one). */
export function hashArgv(raw: Buffer): string {
  return createHash('sha256').update(raw).digest('hex');
}

/**
 * The values of the named variables in the raw bytes of `/proc/PID/environ`. Nothing else of it is decoded: the
 * rest of an environment is secret. The first of several wins, as for getenv(3).
 */
export function pickVariables<Name extends string>(raw: Buffer, names: readonly Name[]): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const needle = `${name}=`;
    let at = raw.indexOf(needle);
    while (at > 0 && raw[at - 1] !== 0) at = raw.indexOf(needle, at + 1);
    if (at < 0) continue;
    const end = raw.indexOf(0, at);
    found[name] = raw.toString('utf8', at + needle.length, end < 0 ? raw.length : end);
  }
  return found;
}
