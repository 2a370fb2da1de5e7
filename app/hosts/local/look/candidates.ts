/** Which processes of a look are servers, each by the evidence that this very look has of it. Pure. */

import type { CustomKind, Recognisable, Recognised } from '../../../servers/kind.ts';
import { recognisable } from '../../../servers/recognition/group.ts';
import type { Candidate, ProcessInfo, UnprovedProcess } from '../../host.ts';

/** Tells what a process is; `app/servers` supplies it. */
export type Recognise = (process: Recognisable, custom: readonly CustomKind[]) => Recognised;

export interface Candidates {
  readonly candidates: readonly Candidate[];
  readonly unproved: readonly UnprovedProcess[];
}

/**
 * @param ownUid whose processes must prove what they run; what another user's claims is shown, and nothing is done to it
 * @param why what keeps programs from being read here, where one is not known
 */
export function recogniseAll(
  processes: Iterable<ProcessInfo>,
  custom: readonly CustomKind[],
  recognise: Recognise,
  ownUid: number,
  why: UnprovedProcess['why'] = 'denied',
): Candidates {
  const candidates: Candidate[] = [];
  const unproved: UnprovedProcess[] = [];
  for (const info of processes) {
    const found = recognise(recognisable(info), custom);
    if (found.state === 'server') candidates.push({ pid: info.pid, recognition: found.recognition });
    if (found.state !== 'unproved' || found.claims === null) continue;
    // One whose user cannot be told either may be ours.
    if (info.uid !== null && info.uid !== ownUid) candidates.push({ pid: info.pid, recognition: found.claims });
    else unproved.push({ pid: info.pid, kind: found.claims.kind, why });
  }
  return { candidates, unproved };
}
