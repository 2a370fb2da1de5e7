/**
 * What the window is sent in place of a whole roll: most of a roll equals the one before, and copying, checking and
 * copying again a thousand servers of which one changed would take longer than a frame. Everything that is sent is
 * checked by the roll's own schema.
 */
import { z } from 'zod';
import { idSchema, type Roll, rollSchema, serverSchema, sessionSchema } from './schema.ts';
import { share } from './share.ts';

/** The roll that a change starts from. A restarted app counts from one again, so the time belongs to it. */
const stampSchema = rollSchema.pick({ version: true, takenAt: true });

const { servers: _servers, sessions: _sessions, ...otherParts } = rollSchema.shape;

/** A long list: the ids of all its items in order, null where none moved; and those items that are new or differ. */
const listChange = <T extends z.ZodType>(item: T) =>
  z.strictObject({ ids: z.array(idSchema).nullable(), changed: z.array(item) }).nullable();

export const rollChangeSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('whole'), roll: rollSchema }),
  z.strictObject({
    type: z.literal('parts'),
    base: stampSchema,
    to: stampSchema,
    /** Every part that differs, whole; a part that is absent is as before. */
    parts: z.strictObject(otherParts).partial(),
    /** Null when none differs and none moved. */
    servers: listChange(serverSchema),
    sessions: listChange(sessionSchema),
  }),
]);
export type RollChange = z.infer<typeof rollChangeSchema>;
type Parts = Extract<RollChange, { type: 'parts' }>;

interface ListChange<T> {
  readonly ids: string[] | null;
  readonly changed: T[];
}

function changeOf<T>(before: readonly T[], next: readonly T[], idOf: (item: T) => string): ListChange<T> | null {
  if (before === next) return null;
  const known = new Set(before);
  const changed = next.filter((item) => !known.has(item));
  const moved =
    next.length !== before.length ||
    next.some((item, index) => {
      const other = before[index];
      return other === undefined || idOf(item) !== idOf(other);
    });
  return changed.length === 0 && !moved ? null : { ids: moved ? next.map(idOf) : null, changed };
}

/** The list after a change, with the objects of what did not change; null when it starts from another list. */
function applied<T extends object>(before: readonly T[], change: ListChange<T>, idOf: (item: T) => string): T[] | null {
  const known = new Map(before.map((item) => [idOf(item), item]));
  for (const item of change.changed) known.set(idOf(item), share(known.get(idOf(item)) ?? null, item));
  const list: T[] = [];
  for (const id of change.ids ?? before.map(idOf)) {
    const item = known.get(id);
    if (item === undefined) return null;
    list.push(item);
  }
  return list;
}

const serverId = ({ id }: { readonly id: string }): string => id;
const sessionKey = ({ key }: { readonly key: string }): string => key;

/** Makes the changes for one window: remembers what it was sent last. */
export class RollSender {
  #sent: Roll | null = null;

  /** The window starts anew and knows nothing. */
  forget(): void {
    this.#sent = null;
  }

  /** What takes the window from the last roll it was sent to `next`. */
  changeTo(next: Roll): RollChange {
    const before = this.#sent;
    const roll = share(before, next);
    this.#sent = roll;
    if (before === null) return { type: 'whole', roll };
    const { servers, sessions, ...others } = roll;
    const parts = Object.fromEntries(
      Object.entries(others).filter(([name, part]) => part !== before[name as keyof Roll]),
    ) as Parts['parts'];
    return {
      type: 'parts',
      base: { version: before.version, takenAt: before.takenAt },
      to: { version: roll.version, takenAt: roll.takenAt },
      parts,
      servers: changeOf(before.servers, servers, serverId),
      sessions: changeOf(before.sessions, sessions, sessionKey),
    };
  }
}

/**
 * The roll after `change`. What did not change keeps its object.
 *
 * @param before the roll that is shown; null when there is none
 * @returns null when the change starts from another roll than `before`, so that the whole one must be asked for
 */
export function applyChange(before: Roll | null, change: RollChange): Roll | null {
  if (change.type === 'whole') return share(before, change.roll);
  if (before === null) return null;
  if (before.version === change.to.version && before.takenAt === change.to.takenAt) return before;
  if (before.version !== change.base.version || before.takenAt !== change.base.takenAt) return null;
  const next: Roll = { ...before };
  // Absent and undefined are alike here: both are "as before".
  const given = Object.entries(change.parts).filter(([, part]) => part !== undefined);
  Object.assign(next, share<object>(before, Object.fromEntries(given)));
  if (change.servers !== null) {
    const servers = applied(before.servers, change.servers, serverId);
    if (servers === null) return null;
    next.servers = servers;
  }
  if (change.sessions !== null) {
    const sessions = applied(before.sessions, change.sessions, sessionKey);
    if (sessions === null) return null;
    next.sessions = sessions;
  }
  return next;
}
