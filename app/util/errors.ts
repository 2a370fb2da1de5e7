/** What a caught value says of itself. Pure. */

/** Its message, for a sentence. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The system's code, such as `ENOENT`; null where it carries none. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/** Its code or, where it carries none, its message: for the brackets of a sentence. */
export function codeOrMessage(error: unknown): string {
  return codeOf(error) ?? messageOf(error);
}
