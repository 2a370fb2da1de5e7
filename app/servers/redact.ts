/** What stands in the place of a secret. */
export const REDACTED = '•••';

/** Options whose value is a secret, whatever stands before or after these words in their names. */
const SECRET_OPTION =
  /^--?[\w.-]*(?:password|passwd|passphrase|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credential|bearer|auth(?!or))[\w.-]*$/iu;
/** Options that match but take no secret. */
const HARMLESS_OPTION =
  /^--?(?:no-|ws-auth$|auth-(?:mode|type|method|file)$|max-|[\w-]*tokens$|[\w-]*-(?:file|path|dir)$)/iu;
const SECRET_NAME = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTH|COOKIE)/iu;

/** Longer options are no options; a bound keeps the patterns quick on whatever a process puts into its argv. */
const OPTION_MAX = 100;

// Every repeat that can start anywhere is bounded, so that the time stays linear in the length of the text.
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  // user:pass@ and token@ in URLs.
  [/\b([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#@"']+@/giu, `$1${REDACTED}@`],
  // Secrets in a query string.
  [
    /([?&#;][\w.-]{0,40}(?:token|key|secret|password|passwd|auth|sig|signature|code)[\w.-]{0,40}=)[^&#\s"']*/giu,
    `$1${REDACTED}`,
  ],
  [/\b(bearer|basic)\s+[\w.~+/=-]{6,}/giu, `$1 ${REDACTED}`],
  // Keys known by their shape: OpenAI, Anthropic, GitHub, Slack, AWS, Google, JSON Web Tokens.
  [/\b(?:sk|pk|rk)-[\w-]{16,}/gu, REDACTED],
  [/\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza)[\w-]{12,}/gu, REDACTED],
  [/(?<![\w-])eyJ[\w-]{8,500}\.[\w-]{8,5000}\.[\w-]{0,2000}/gu, REDACTED],
  // Inside JSON or a header: "apiKey": "x", api_key: x, Authorization: x.
  [
    /(["']?(?<![\w-])[\w-]{0,40}(?:password|passwd|secret|token|api[-_]?key|authorization)["']?\s*:\s*)(?:"[^"]*"|'[^']*'|[^\s,}"']+)/giu,
    `$1${REDACTED}`,
  ],
];

function isSecretOption(name: string): boolean {
  return name.length <= OPTION_MAX && SECRET_OPTION.test(name) && !HARMLESS_OPTION.test(name);
}

function redactOne(argument: string): string {
  const equals = argument.indexOf('=');
  if (equals > 0) {
    const name = argument.slice(0, equals);
    const option = isSecretOption(name);
    if (option || (/^[A-Za-z_][\w.]*$/u.test(name) && SECRET_NAME.test(name))) return `${name}=${REDACTED}`;
  }
  return redactText(argument);
}

/** Hides secrets in free text: a log line, an error, one argument. Never throws. */
export function redactText(text: string): string {
  let result = text;
  for (const [pattern, replacement] of PATTERNS) result = result.replace(pattern, replacement);
  // NAME=VALUE anywhere, as in `env API_KEY=x tool` inside a shell's command string.
  result = result.replace(/\b([A-Za-z_]\w*)=("[^"]*"|'[^']*'|[^\s"'&;|]+)/gu, (whole, name: string) =>
    SECRET_NAME.test(name) ? `${name}=${REDACTED}` : whole,
  );
  // `--password x` inside a command string.
  return result.replace(
    /(^|\s)(--?[\w.-]+)([ =])("[^"]*"|'[^']*'|[^\s"'-][^\s"']*)/gu,
    (whole, before: string, name: string, between: string) =>
      isSecretOption(name) ? `${before}${name}${between}${REDACTED}` : whole,
  );
}

/**
 * Hides secrets in a command line, argument by argument, for screen, log and export. The value of `--password X` is a
 * secret although it stands alone; a following option is not taken for a value. Never throws.
 */
export function redactArgv(argv: readonly string[]): readonly string[] {
  let valueIsSecret = false;
  return argv.map((argument, index) => {
    if (valueIsSecret && !argument.startsWith('--')) {
      valueIsSecret = false;
      return REDACTED;
    }
    valueIsSecret = index > 0 && isSecretOption(argument);
    return redactOne(argument);
  });
}

/**
 * Text on one line: control characters, line ends and marks that reorder text become visible escapes, and what is too
 * long loses its end. Never throws.
 *
 * @param max length of the result in UTF-16 units, the ellipsis included
 */
export function oneLine(text: string, max = Number.POSITIVE_INFINITY): string {
  // Escaping only grows text, so more than `max` units are never needed.
  const head = text.length > max ? text.slice(0, max + 1) : text;
  const escaped = head.replace(
    /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]|[\ud800-\udfff]/gu,
    (char) => {
      if (char === '\n') return '\\n';
      if (char === '\t') return '\\t';
      if (char === '\r') return '\\r';
      return `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
    },
  );
  if (escaped.length <= max) return escaped;
  const cut = escaped.slice(0, Math.max(0, max - 1));
  // Not through the middle of a pair.
  return `${/[\ud800-\udbff]$/u.test(cut) ? cut.slice(0, -1) : cut}…`;
}

/** A whole command line for people: redacted, on one line, quoted where blanks would mislead. */
export function commandText(argv: readonly string[], max = Number.POSITIVE_INFINITY): string {
  const words = redactArgv(argv).map((word) =>
    word === '' || /\s/u.test(word) ? JSON.stringify(word).replaceAll('\\\\', '\\') : word,
  );
  return oneLine(words.join(' '), max);
}
