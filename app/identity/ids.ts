import { createHash } from 'node:crypto';
import { identityKey, type ProcessIdentity } from './identity.ts';

/** Id of a row: the first 16 hex digits of sha256 of the identity's key. */
export function idOf(identity: ProcessIdentity): string {
  return createHash('sha256').update(identityKey(identity)).digest('hex').slice(0, 16);
}
