/** Typing two letters finds a row, as in a file manager. */

/** Letters typed further apart than this start a new word, in milliseconds. */
export const TYPING_PAUSE_MS = 1000;

export interface Typed {
  readonly text: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Adds a letter to what was typed just before. */
export function typeLetter(typed: Typed, letter: string, at: number): Typed {
  return { text: at - typed.at > TYPING_PAUSE_MS ? letter : typed.text + letter, at };
}

/**
 * The row that typing goes to: the first, from `current` on and round the end, one of whose names starts with the
 * text. Fewer than two letters find nothing. -1 when none matches.
 */
export function findTyped(names: readonly (readonly string[])[], text: string, current: number): number {
  const wanted = text.toLowerCase();
  if (wanted.trim().length < 2) return -1;
  const start = Math.max(0, current);
  for (let step = 0; step < names.length; step += 1) {
    const index = (start + step) % names.length;
    if (names[index]?.some((name) => name.toLowerCase().startsWith(wanted)) === true) return index;
  }
  return -1;
}
