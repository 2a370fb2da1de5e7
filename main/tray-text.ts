import { NOTHING } from '../app/text/words.ts';

/** The longest title of a tray menu item, in characters. */
export const TITLE_LIMIT = 44;

/** `text` cut to `limit` characters, its end replaced by one ellipsis. */
export function cut(text: string, limit: number = TITLE_LIMIT): string {
  const line = text.replace(/\s+/gu, ' ').trim();
  const characters = [...line];
  return characters.length <= limit
    ? line
    : `${characters
        .slice(0, limit - 1)
        .join('')
        .trimEnd()}…`;
}

/** The first of `candidates` that fits a title; the last one, cut, where none does. */
export function firstThatFits(...candidates: readonly string[]): string {
  return candidates.find((text) => [...text].length <= TITLE_LIMIT) ?? cut(candidates.at(-1) ?? NOTHING);
}

/** A title as a menu wants it: `&` doubled, or it would become a mnemonic. */
export function menuLabel(text: string): string {
  return cut(text).replaceAll('&', '&&');
}
