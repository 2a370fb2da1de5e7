/** Words before a command that leave it the same command. */
const PREFIXES: ReadonlySet<string> = new Set(['exec', 'command', 'env', 'nohup', 'setsid']);

/**
 * The words of a shell command string that runs exactly one program, without assignments, redirections and prefixes
 * such as `exec`; null for anything more (lists, pipes, background jobs, substitutions, compound commands).
 *
 * A shell that runs one program exists for that program alone, so the two may end together. Of any other shell that
 * cannot be told, so whoever asks must leave it alone.
 */
export function soleCommand(text: string): readonly string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let redirected = false;
  const finish = (): void => {
    if (word === null) return;
    if (redirected) redirected = false;
    else words.push(word);
    word = null;
  };
  const source = text.trim();
  for (let index = 0; index < source.length; index += 1) {
    const char = source[index] ?? '';
    if (char === "'" || char === '"') {
      const end = source.indexOf(char, index + 1);
      if (end === -1) return null;
      const quoted = source.slice(index + 1, end);
      if (char === '"' && /`|\$\(|\\/u.test(quoted)) return null;
      word = (word ?? '') + quoted;
      index = end;
    } else if (char === '\\') {
      index += 1;
      if (index >= source.length || source[index] === '\n') return null;
      word = (word ?? '') + (source[index] ?? '');
    } else if (char === ' ' || char === '\t') {
      finish();
    } else if (char === '>' || char === '<') {
      // A file descriptor's number before the sign belongs to the redirection.
      if (word !== null && /^\d+$/u.test(word)) word = null;
      finish();
      while (source[index + 1] === '>' || source[index + 1] === '&') index += 1;
      redirected = true;
    } else if (/[;&|()`\n#]/u.test(char) || (char === '$' && source[index + 1] === '(')) {
      return null;
    } else {
      word = (word ?? '') + char;
    }
  }
  finish();
  let start = 0;
  while (start < words.length && (PREFIXES.has(words[start] ?? '') || /^[A-Za-z_]\w*=/u.test(words[start] ?? ''))) {
    start += 1;
  }
  const command = words.slice(start);
  const keyword = /^(?:if|for|while|until|case|select|function|time|\{|!|\[\[)$/u;
  return command.length === 0 || keyword.test(command[0] ?? '') ? null : command;
}
