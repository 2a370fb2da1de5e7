/**
 * How a script is sent and how its answer is told from whatever else an account prints: a profile's greetings before
 * it, a banner after it, with or without a newline at the end.
 */
import { randomBytes } from 'node:crypto';
import lib from '../remote/lib.sh';

/** Lines that are a comment and nothing else: some shells read what they are sent byte by byte. */
const COMMENTS = /^[ \t]*#.*\n/gmu;

/** Values for a script's variables. Sent on standard input with it, never as arguments. */
export type Parameters = Readonly<Record<string, string | number>>;

export interface Composed {
  readonly input: string;
  readonly marker: string;
}

/** One part of an answer: the words of its line, and the bytes that follow it. */
export interface FrameSection {
  readonly name: string;
  readonly rest: string;
  readonly bytes: Buffer;
}

export type ScriptFrame =
  | { readonly found: 'answer'; readonly sections: readonly FrameSection[]; readonly status: number }
  /** Nothing of ours ran, or its first line never arrived. */
  | { readonly found: 'nothing' }
  /** It began and did not end: what is missing is unknown. */
  | { readonly found: 'cut-off' };

const NAME = /^[a-z][a-z_]*$/u;
const NEWLINE = 0x0a;

/** A text as one word of a POSIX shell. Throws for a NUL, which no shell can hold. */
export function quoted(text: string): string {
  if (text.includes('\0')) throw new TypeError('a shell word cannot hold a NUL');
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * One script with its values. All of it is one compound command: a shell runs nothing of a text that was cut off.
 *
 * @param ownLocale leaves the account's locale and time zone alone and tells its umask, for what is started and stays
 */
export function compose(
  script: string,
  parameters: Parameters,
  options: { readonly ownLocale?: boolean; readonly marker?: string } = {},
): Composed {
  const marker = options.marker ?? `rollcall-${randomBytes(16).toString('hex')}`;
  const values = Object.entries(parameters).map(([name, value]) => {
    if (!NAME.test(name) || name.startsWith('rc_')) throw new TypeError(`${name} is no name for a script's value`);
    return `${name}=${quoted(String(value))}`;
  });
  const input = [
    '{',
    `rc_marker=${quoted(marker)}`,
    ...values,
    ...(options.ownLocale === true ? ['umask=$(umask)'] : []),
    lib.replace(COMMENTS, ''),
    'rc_main() {',
    script.replace(COMMENTS, ''),
    '}',
    ...(options.ownLocale === true ? [] : ['LC_ALL=C TZ=UTC', 'export LC_ALL TZ']),
    'rc_section begin',
    'rc_main </dev/null',
    'rc_status=$?',
    'rc_section end "$rc_status"',
    'exit "$rc_status"',
    '}',
    '',
  ].join('\n');
  return { input, marker };
}

/** Takes the answer out of what an account printed. Pure. What stands before or after it does not matter. */
export function parseFrame(output: Buffer, marker: string): ScriptFrame {
  const begin = output.indexOf(`\n${marker} begin\n`);
  if (begin < 0) return { found: 'nothing' };
  const lead = Buffer.from(`\n${marker} `);
  const sections: FrameSection[] = [];
  let at = begin;
  for (;;) {
    const lineEnd = output.indexOf(NEWLINE, at + lead.length);
    if (lineEnd < 0) return { found: 'cut-off' };
    const [name = '', ...rest] = output.toString('utf8', at + lead.length, lineEnd).split(' ');
    if (name === 'end') {
      const status = Number(rest[0]);
      return Number.isInteger(status) ? { found: 'answer', sections, status } : { found: 'cut-off' };
    }
    const next = output.indexOf(lead, lineEnd + 1);
    if (next < 0) return { found: 'cut-off' };
    const bytes = output.subarray(lineEnd + 1, next);
    if (name !== 'begin') sections.push({ name, rest: rest.join(' '), bytes });
    at = next;
  }
}
