/** Aligned text for a terminal. Pure. */

/**
 * Text from outside, made safe to print: a folder's name may hold newlines, escape sequences or marks that turn the
 * direction of writing, and must neither break a row nor command the terminal.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (character) =>
    character === '\u200d' ? character : character === '\n' || character === '\t' ? ' ' : '\ufffd',
  );
}

/** Columns a text takes: none for combining marks, two for wide letters (East Asian wide and emoji). */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) {
    if (/[\p{M}\u200d]/u.test(character)) continue;
    width += isWide(character.codePointAt(0) ?? 0) ? 2 : 1;
  }
  return width;
}

/** The blocks that Unicode's EastAsianWidth calls wide, to the block. */
function isWide(code: number): boolean {
  return (
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf && code !== 0x303f) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0xffe0 && code <= 0xffe6) ||
    (code >= 0x1f300 && code <= 0x1faff) ||
    (code >= 0x20000 && code <= 0x3fffd)
  );
}

function take(characters: readonly string[], width: number): string {
  let text = '';
  let used = 0;
  for (const character of characters) {
    used += displayWidth(character);
    if (used > width) break;
    text += character;
  }
  return text;
}

/** Names lose their end. */
export function cutEnd(text: string, width: number): string {
  return displayWidth(text) <= width ? text : `${take([...text], width - 1)}…`;
}

/** Paths lose their middle: the last part stays whole as long as it fits. */
export function cutPath(path: string, width: number): string {
  if (displayWidth(path) <= width) return path;
  const tail = path.slice(path.lastIndexOf('/'));
  const room = width - 1 - displayWidth(tail);
  if (room < 0) return cutEnd(tail.slice(1), width);
  return `${take([...path], room)}…${tail}`;
}

export interface Column {
  readonly head: string;
  readonly align: 'left' | 'right';
  /** How it is cut when the terminal is too narrow; absent for numbers, PIDs and standings, which never are. */
  readonly cut?: { readonly how: (text: string, width: number) => string; readonly minWidth: number };
}

export interface TableLayout {
  readonly head: string;
  row(cells: readonly string[]): string;
}

const GAP = 2;

/**
 * Lays columns out for all rows together, so that several groups line up.
 *
 * @param columns of the terminal, or null to cut nothing
 * @param indent spaces before the first column
 */
export function layOut(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number | null,
  indent: number,
): TableLayout {
  const widths = columns.map((column, at) =>
    Math.max(displayWidth(column.head), ...rows.map((row) => displayWidth(row[at] ?? ''))),
  );
  if (width !== null) narrow(columns, widths, width - indent - GAP * (columns.length - 1));
  const line = (cells: readonly string[]): string => {
    const parts = columns.map((column, at) => {
      const room = widths[at] ?? 0;
      const cell = column.cut === undefined ? (cells[at] ?? '') : column.cut.how(cells[at] ?? '', room);
      const air = ' '.repeat(Math.max(0, room - displayWidth(cell)));
      return column.align === 'right' ? `${air}${cell}` : `${cell}${air}`;
    });
    return `${' '.repeat(indent)}${parts.join(' '.repeat(GAP))}`.trimEnd();
  };
  return { head: line(columns.map((column) => column.head)), row: line };
}

/** Takes from the widest column that may be cut, one step at a time, until the rest fits or nothing is left to give. */
function narrow(columns: readonly Column[], widths: number[], room: number): void {
  const sum = () => widths.reduce((total, width) => total + width, 0);
  while (sum() > room) {
    let widest = -1;
    for (const [at, column] of columns.entries()) {
      const width = widths[at] ?? 0;
      if (column.cut !== undefined && width > column.cut.minWidth && width > (widths[widest] ?? 0)) widest = at;
    }
    if (widest === -1) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

/** Breaks a sentence into lines of at most `width` columns; null leaves it whole. */
export function wrap(text: string, width: number | null): string[] {
  if (width === null || displayWidth(text) <= width) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && displayWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  lines.push(line);
  return lines;
}
