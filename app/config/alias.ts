/** Longer than any name that DNS, a configuration file or `user@host` makes sense of. */
const MAX_LENGTH = 512;

/**
 * What is in no alias: blanks, control and format characters, and what a shell acts on, for ssh puts the name into
 * `ProxyCommand` and `Match exec` lines that a shell runs.
 */
const NEVER_IN_ALIAS = /[\s\p{C}'"`$\\;&<>|(){}*?!,#]/u;

/**
 * Why an alias is not handed to ssh, in a few words that go on from it: “it is empty”; null when it may be. ssh would take
 * one that begins with `-` for options, and with them run any program. Pure.
 */
export function whyRefused(alias: string): string | null {
  if (alias === '') return 'it is empty';
  if (alias.length > MAX_LENGTH) return `it has more than ${MAX_LENGTH} characters`;
  if (alias.startsWith('-')) return 'ssh would take it for an option';
  if (alias.includes('@-') || alias.includes('//-')) return 'its host begins with a dash';
  const found = NEVER_IN_ALIAS.exec(alias)?.[0];
  if (found === undefined) return null;
  return /[\s\p{C}]/u.test(found) ? 'it has a blank or an invisible character in it' : `it has ${found} in it`;
}
