/**
 * Structural sharing: what did not change keeps its object, so that a memoised row renders again only when its own
 * server changed.
 */

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function idOf(value: unknown): string | null {
  return isRecord(value) && typeof value['id'] === 'string' ? value['id'] : null;
}

function shareArray(before: readonly unknown[], next: readonly unknown[]): readonly unknown[] {
  const byId = new Map<string, unknown>();
  for (const item of before) {
    const id = idOf(item);
    if (id !== null) byId.set(id, item);
  }
  const shared = next.map((item, index) => {
    const id = idOf(item);
    return shareUnknown(id === null ? before[index] : byId.get(id), item);
  });
  const same = shared.length === before.length && shared.every((item, index) => item === before[index]);
  return same ? before : shared;
}

function shareRecord(before: Record<string, unknown>, next: Record<string, unknown>): Record<string, unknown> {
  const keys = Object.keys(next);
  const shared: Record<string, unknown> = {};
  let same = keys.length === Object.keys(before).length;
  for (const key of keys) {
    const value = shareUnknown(before[key], next[key]);
    shared[key] = value;
    if (value !== before[key] || !(key in before)) same = false;
  }
  return same ? before : shared;
}

function shareUnknown(before: unknown, next: unknown): unknown {
  if (Object.is(before, next)) return before;
  if (Array.isArray(before) && Array.isArray(next)) return shareArray(before, next);
  if (isRecord(before) && isRecord(next)) return shareRecord(before, next);
  return next;
}

/**
 * `next` with every part that equals its counterpart in `before` replaced by that very object. Items of arrays are
 * matched by their `id` where they have one, else by place. Both are plain JSON data; neither is changed.
 */
export function share<T>(before: T | null, next: T): T {
  // The result has the shape of `next`: every value in it is `next`'s own or one that equals it.
  return shareUnknown(before, next) as T;
}
