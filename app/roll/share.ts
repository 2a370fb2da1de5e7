/**
 * Structural sharing: what did not change keeps its object, so that a memoised row renders again only when its own
 * server changed.
 */

type JsonObject = Record<string, unknown>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What an item is known by: its `key` where it has one (a session's `id` is unique in its tool only), else its `id`. */
function idOf(value: unknown): unknown {
  return isObject(value) ? (value['key'] ?? value['id']) : undefined;
}

/** What an item is compared with: the one of its id, which mostly still stands in its place. */
function counterparts(before: readonly unknown[]): (item: unknown, index: number) => unknown {
  let byId: Map<unknown, unknown> | null = null;
  return (item, index) => {
    const inPlace = before[index];
    const id = idOf(item);
    if (id === undefined || idOf(inPlace) === id) return inPlace;
    byId ??= new Map(before.map((other) => [idOf(other), other]));
    return byId.get(id);
  };
}

// Nothing is copied before the first difference is found: most of a roll is equal to the one before.

function shareArray(before: readonly unknown[], next: readonly unknown[]): readonly unknown[] {
  const counterpart = counterparts(before);
  let copy: unknown[] | null = next.length === before.length ? null : [];
  for (let index = 0; index < next.length; index += 1) {
    const item = shareUnknown(counterpart(next[index], index), next[index]);
    if (copy === null && item !== before[index]) copy = before.slice(0, index);
    copy?.push(item);
  }
  return copy ?? before;
}

function shareObject(before: JsonObject, next: JsonObject): JsonObject {
  let same = true;
  let count = 0;
  for (const key in next) {
    count += 1;
    if (next[key] !== before[key] || !(key in before)) {
      const value = shareUnknown(before[key], next[key]);
      if (value !== before[key] || !(key in before)) {
        same = false;
        break;
      }
    }
  }
  if (same && count === Object.keys(before).length) return before;
  const copy: JsonObject = {};
  for (const key in next) copy[key] = shareUnknown(before[key], next[key]);
  return copy;
}

function shareUnknown(before: unknown, next: unknown): unknown {
  if (before === next || typeof next !== 'object' || next === null) return next;
  if (Array.isArray(next)) return Array.isArray(before) ? shareArray(before, next) : next;
  return isObject(before) && isObject(next) ? shareObject(before, next) : next;
}

/**
 * `next` with every part that equals its counterpart in `before` replaced by that very object. Items of arrays are
 * matched by their `key` or `id` where they have one, else by place. Both are plain JSON data; neither is changed.
 */
export function share<T>(before: T | null, next: T): T {
  // The result has the shape of `next`: every value in it is `next`'s own or one that equals it.
  return shareUnknown(before, next) as T;
}
