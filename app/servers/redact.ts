/** What stands in the place of a secret. */
export const REDACTED = '•••';

/** Options whose value is a secret, whatever stands before or after these words in their names. */
const SECRET_OPTION =
  /^--?[\w.-]*(?:password|passwd|passphrase|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credential|cookie|bearer|auth(?!or))[\w.-]*$/iu;
/** Options that match but take no secret. */
const HARMLESS_OPTION =
  /^--?(?:no-|ws-auth$|auth-(?:mode|type|method|file)$|max-|[\w-]*tokens$|[\w-]*-(?:file|path|dir)$)/iu;
const SECRET_NAME = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTH|COOKIE)/iu;
/** curl's `-u NAME:PASSWORD`; a pair of numbers is a user and a group. */
const LOGIN_OPTION = /^(?:-u|--(?:proxy-)?user)$/u;
const LOGIN = /^(?!\d+:\d+$)([^\s:]{0,100}):./su;

/** Longer options are no options; a bound keeps the patterns quick on whatever a process puts into its argv. */
const OPTION_MAX = 100;

// Every repeat that can start anywhere is bounded, so that the time stays linear in the length of the text. A quote that
// is never closed (a text that was cut off) runs to the end of the text.
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  // user:pass@ and token@ in URLs; an @ in the password does not end it.
  [/\b([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#"']+@/giu, `$1${REDACTED}@`],
  // Secrets in a query string.
  [
    /([?&#;][\w.-]{0,40}(?:token|key|secret|password|passwd|auth|sig|signature|code)[\w.-]{0,40}=)[^&#\s"']+/giu,
    `$1${REDACTED}`,
  ],
  // Headers whose value may be several words: to the end of the line or of the quotes around it.
  [
    /(?<![\w-])((?:proxy-)?authorization|(?:set-)?cookie)(\s{0,20}:\s{0,20})(?!\s|["'\\])[^\r\n"']+/giu,
    `$1$2${REDACTED}`,
  ],
  [/\b(bearer|basic)\s+[\w.~+/=-]{6,}/giu, `$1 ${REDACTED}`],
  // Keys known by their shape: OpenAI, Anthropic, GitHub, Slack, AWS, Google, JSON Web Tokens.
  [/\b(?:sk|pk|rk)-[\w-]{16,}/gu, REDACTED],
  [/\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza)[\w-]{12,}/gu, REDACTED],
  [/(?<![\w-])eyJ[\w-]{8,500}\.[\w-]{8,5000}\.[\w-]{0,2000}/gu, REDACTED],
  // Inside JSON or a header: "apiKey": "x", \"apiKey\": \"x\", api_key: x.
  [
    /((?<![\w-])[\w-]{0,40}(?:password|passwd|passphrase|secret(?:[-_]?key)?|token|(?:api|access|private)[-_]?key|credentials?|cookie|authorization)\\?["']?\s{0,20}:\s{0,20})(?:\\+"[^"]*"?|"(?:[^"\\]|\\.)*(?:"|$)|'[^']*(?:'|$)|[^\s,}"']+)/gisu,
    `$1${REDACTED}`,
  ],
  [/((?:^|\s)(?:-u|--(?:proxy-)?user)[ =]["']?)(?!\d+:\d)([^\s:"'/]{0,100}):[^\s"']+/gu, `$1$2:${REDACTED}`],
];

/** One word of a shell: quoted and plain pieces without a blank between them. */
const WORD = /(?:"(?:[^"\\]|\\.)*(?:"|$)|'[^']*(?:'|$)|\\.|[^\s"'\\])(?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s"'\\])*/sy;
/** A value in a list of quoted texts. */
const LISTED = /"(?:[^"\\]|\\.)*(?:"|$)|'[^']*(?:'|$)|[^\s"',\]]+/sy;
const TO_DOUBLE_QUOTE = /(?:[^"\\]|\\.)*/sy;
const TO_SINGLE_QUOTE = /[^']*/y;

/** NAME=VALUE, as in `env API_KEY=x tool`. */
const ASSIGNMENT = /(^|[^\w.])([A-Za-z_]\w*)(=)/g;
/** `--password VALUE`, `--password=VALUE`, `"--password", "VALUE"`. */
const OPTION = /(^|[\s"'[({,;&|])(--?[\w.-]+)(=|(?:["']\s*,\s*|["']?\s+)(?=\S))/g;
/** What follows a secret's option and is plainly the next option: the secret was left out. */
const NEXT_OPTION = /["']?--[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?=["'=\s,]|$)/y;

function isSecretOption(name: string): boolean {
  return name.length <= OPTION_MAX && SECRET_OPTION.test(name) && !HARMLESS_OPTION.test(name);
}

/** Where a match of a sticky pattern at this place ends; null when there is none. */
function endOf(pattern: RegExp, text: string, at: number): number | null {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : null;
}

function isNextOption(text: string, at: number): boolean {
  return endOf(NEXT_OPTION, text, at) !== null;
}

/** The pattern of a value, by what stands before its name and between the two. */
function valuePattern(before: string, between: string): RegExp {
  if (between === '=' && before === '"') return TO_DOUBLE_QUOTE;
  if (between === '=' && before === "'") return TO_SINGLE_QUOTE;
  return /^["']|,/u.test(between) ? LISTED : WORD;
}

/** Hides the values of the secret names that `pattern` finds: groups before, name, between. */
function hideValues(text: string, pattern: RegExp, isSecret: (name: string) => boolean): string {
  let result = '';
  let done = 0;
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [whole, before = '', name = '', between = ''] = match;
    const at = match.index + whole.length;
    // The blank after a name also stands before the next one.
    pattern.lastIndex = match.index + before.length + name.length;
    if (!isSecret(name) || (between !== '=' && isNextOption(text, at))) continue;
    // Part of a query, which has been dealt with; what follows the secret there is not.
    if (/[?&#;]/u.test(before) && text.startsWith(REDACTED, at)) continue;
    const end = endOf(valuePattern(before, between), text, at);
    if (end === null || end === at) continue;
    result += `${text.slice(done, Math.max(done, at))}${REDACTED}`;
    done = end;
    // A value that is spelled like a secret's option may be one, and then the secret is what follows.
    if (between === '=' || !isSecret(text.slice(at, end))) pattern.lastIndex = end;
  }
  return result + text.slice(done);
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
  result = hideValues(result, ASSIGNMENT, (name) => SECRET_NAME.test(name));
  return hideValues(result, OPTION, isSecretOption);
}

/**
 * Hides secrets in a command line, argument by argument, for screen, log and export. The value of `--password X` is a
 * secret although it stands alone; what is plainly the next option is not taken for a value. Never throws.
 */
export function redactArgv(argv: readonly string[]): readonly string[] {
  return argv.map((argument, index) => {
    const option = index < 2 ? '' : (argv[index - 1] ?? '');
    if (isSecretOption(option) && !isNextOption(argument, 0)) return REDACTED;
    const login = LOGIN_OPTION.test(option) ? LOGIN.exec(argument) : null;
    return login === null ? redactOne(argument) : `${login[1] ?? ''}:${REDACTED}`;
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
