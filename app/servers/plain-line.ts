/**
 * Text of unknown origin as one line of at most `max` characters: marks that nobody sees and line ends become blanks.
 * The result shares no memory with what it was made of, so that a short title keeps no long message alive.
 */
export function plainLine(text: string, max: number): string {
  // A character has at most two units; what comes behind this many would be cut off in any case.
  const head = text.length > 4 * max ? text.slice(0, 4 * max) : text;
  const line = head.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
  const chars = Array.from(line.toWellFormed());
  return chars.length > max ? `${chars.slice(0, max - 1).join('')}…` : chars.join('');
}
