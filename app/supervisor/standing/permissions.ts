/** What the person may do with a row now, with the sentence that says why not (DESIGN section 2, last part). Pure. */
import type { Permission, Standing } from '../../roll/schema.ts';

export interface PermissionFacts {
  readonly standing: Standing;
  readonly busy: 'busy' | 'idle' | 'unknown';
  readonly busySign: string;
  readonly uid: number | null;
  readonly ownUid: boolean;
  /** Why no signal to it could be proved; null where one can. */
  readonly unproved: string | null;
  /** First reason of the standing. */
  readonly reason: string;
}

function otherUser(uid: number | null): Permission {
  const who = uid === null ? 'a user that could not be read' : `another user (uid ${uid})`;
  return {
    allowed: 'no',
    why: `It belongs to ${who}, and Rollcall never signals other users' processes. Ask its owner.`,
  };
}

function unprovable(why: string): Permission {
  return {
    allowed: 'no',
    why: `Nothing can be signalled here, because it cannot be proved to be this process: ${why}.`,
  };
}

export function reapPermission(facts: PermissionFacts): Permission {
  if (!facts.ownUid) return otherUser(facts.uid);
  if (facts.unproved !== null) return unprovable(facts.unproved);
  if (facts.busy === 'busy') return { allowed: 'force', why: `It is busy: ${facts.busySign}.` };
  switch (facts.standing) {
    case 'leaked':
      return { allowed: 'yes' };
    case 'suspect':
      return { allowed: 'confirm', why: `It is suspect, not leaked: ${facts.reason}.` };
    case 'detached':
      return { allowed: 'confirm', why: `It is detached on purpose: ${facts.reason}.` };
    case 'owned':
    case 'service':
      return { allowed: 'force', why: `It is not leaked: ${facts.reason}.` };
    case 'supervised':
      return { allowed: 'force', why: 'It is supervised by Rollcall: stop it instead of reaping it.' };
  }
}

export function stopPermission(facts: PermissionFacts): Permission {
  if (facts.standing !== 'supervised') {
    return { allowed: 'no', why: 'Rollcall did not start it, so it is reaped, not stopped.' };
  }
  if (!facts.ownUid) return otherUser(facts.uid);
  if (facts.unproved !== null) return unprovable(facts.unproved);
  if (facts.busy === 'busy') return { allowed: 'force', why: `It is busy: ${facts.busySign}.` };
  return { allowed: 'yes' };
}

export interface LeftoverFacts {
  readonly uid: number | null;
  readonly ownUid: boolean;
  /** What speaks for somebody still using it; null when nothing does. */
  readonly doubt: string | null;
}

export function leftoverPermission(facts: LeftoverFacts): Permission {
  if (!facts.ownUid) return otherUser(facts.uid);
  return facts.doubt === null ? { allowed: 'yes' } : { allowed: 'confirm', why: `It may be wanted: ${facts.doubt}.` };
}
