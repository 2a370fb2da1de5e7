/** Descriptors, children and memory of app and guard, at moments that can be compared. */
import type { ChaosLedger } from './ledger.ts';
import { descriptorsOf, privateBytes } from './proc.ts';

export interface Sample {
  readonly app: number;
  readonly guard: number | null;
  readonly appDescriptors: number;
  readonly guardDescriptors: number;
  readonly appBytes: number;
  readonly guardBytes: number;
  readonly children: number;
  readonly kinds: Readonly<Record<string, number>>;
}

/** What two samples without servers may differ by: a connection or a file that is open at the moment. */
const SLACK_DESCRIPTORS = 6;
const SLACK_BYTES = 150 * 1024 * 1024;
const GUARD_LIMIT_BYTES = 30 * 1024 * 1024;

export function sample(ledger: ChaosLedger): Sample | null {
  const app = ledger.living('app')[0]?.pid;
  if (app === undefined) return null;
  const guard = ledger.living('guard')[0]?.pid ?? null;
  const descriptors = descriptorsOf(app);
  const kinds: Record<string, number> = {};
  for (const to of descriptors) {
    const kind = to.replace(/:?\[\d+\]$/u, '');
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  }
  return {
    app,
    guard,
    appDescriptors: descriptors.length,
    guardDescriptors: guard === null ? 0 : descriptorsOf(guard).length,
    appBytes: privateBytes(app),
    guardBytes: guard === null ? 0 : privateBytes(guard),
    children: ledger.living().filter(({ parent }) => parent === app).length,
    kinds,
  };
}

/** Compares two samples that were taken while no server ran. @returns what grew, as sentences */
export function growth(before: Sample, after: Sample): string[] {
  const found: string[] = [];
  const compare = (what: string, from: number, to: number, slack: number): void => {
    if (to > from + slack) found.push(`${what} grew from ${from} to ${to}`);
  };
  compare("the app's descriptors", before.appDescriptors, after.appDescriptors, SLACK_DESCRIPTORS);
  compare("the guard's descriptors", before.guardDescriptors, after.guardDescriptors, SLACK_DESCRIPTORS);
  compare("the app's private memory in bytes", before.appBytes, after.appBytes, SLACK_BYTES);
  compare("the app's children", before.children, after.children, 0);
  if (after.guardBytes > GUARD_LIMIT_BYTES) found.push(`the guard holds ${after.guardBytes} bytes of private memory`);
  return found;
}
