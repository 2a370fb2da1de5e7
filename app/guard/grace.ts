/** How long a guard waits for another app after a crash, in milliseconds. */
export const GRACE_MS = 20_000;
/** Another grace in milliseconds, for tests. */
export const GRACE_VARIABLE = 'ROLLCALL_GUARD_GRACE_MS';
