/**
 * What the window is sent in place of a whole roll: most of a roll equals the one before, and copying, checking and
 * copying again a thousand servers of which one changed would take longer than a frame. Everything that is sent is
 * checked by the roll's own schema.
 */
import { z } from 'zod';
import { idSchema, type Roll, rollSchema, type Server, serverSchema } from './schema.ts';
import { share } from './share.ts';

/** The roll that a change starts from. A restarted app counts from one again, so the time belongs to it. */
const stampSchema = rollSchema.pick({ version: true, takenAt: true });

const { servers: _servers, ...otherParts } = rollSchema.shape;

export const rollChangeSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('whole'), roll: rollSchema }),
  z.strictObject({
    type: z.literal('parts'),
    base: stampSchema,
    to: stampSchema,
    /** Every part that differs, whole; a part that is absent is as before. */
    parts: z.strictObject(otherParts).partial(),
    /** Null when no server differs and none moved. */
    servers: z
      .strictObject({
        /** All servers of the new roll, in its order. */
        ids: z.array(idSchema),
        /** Those that are new or differ. */
        changed: z.array(serverSchema),
      })
      .nullable(),
  }),
]);
export type RollChange = z.infer<typeof rollChangeSchema>;
type Parts = Extract<RollChange, { type: 'parts' }>;

function serversChange(before: readonly Server[], next: readonly Server[]): Parts['servers'] {
  const known = new Set(before);
  const changed = next.filter((server) => !known.has(server));
  const moved = next.length !== before.length || next.some((server, index) => server.id !== before[index]?.id);
  return changed.length === 0 && !moved ? null : { ids: next.map((server) => server.id), changed };
}

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
    const { servers, ...others } = roll;
    const parts = Object.fromEntries(
      Object.entries(others).filter(([name, part]) => part !== before[name as keyof Roll]),
    ) as Parts['parts'];
    return {
      type: 'parts',
      base: { version: before.version, takenAt: before.takenAt },
      to: { version: roll.version, takenAt: roll.takenAt },
      parts,
      servers: servers === before.servers ? null : serversChange(before.servers, servers),
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
    const known = new Map(before.servers.map((server) => [server.id, server]));
    for (const server of change.servers.changed) known.set(server.id, share(known.get(server.id) ?? null, server));
    const servers: Server[] = [];
    for (const id of change.servers.ids) {
      const server = known.get(id);
      if (server === undefined) return null;
      servers.push(server);
    }
    next.servers = servers;
  }
  return next;
}
