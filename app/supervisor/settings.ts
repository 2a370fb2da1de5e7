/** The settings in force, and the kinds they allow. */
import type { Paths } from '../config/paths.ts';
import type { Roll } from '../roll/schema.ts';
import type { CustomKind, Kind } from '../servers/kind.ts';
import { kindOf, startableKinds } from '../servers/kinds.ts';

export interface CurrentSettings {
  readonly graceSeconds: number;
  readonly reapAsk: Roll['settings']['reapAsk'];
  readonly lookSeconds: number;
  readonly customKinds: readonly CustomKind[];
  readonly problem: string | null;
}

export interface SettingsSource {
  readonly current: CurrentSettings;
  kindOf(name: string): Kind | null;
  startable(env: Readonly<Record<string, string | undefined>>): Promise<Roll['startable']>;
  onChange(listener: () => void): void;
  close(): void;
}

export function openSettings(_paths: Paths, options: { developmentBin: string | null; follow: boolean }): SettingsSource {
  const start = { developmentBin: options.developmentBin, programs: {} };
  return {
    current: { graceSeconds: 120, reapAsk: 'others', lookSeconds: 2, customKinds: [], problem: null },
    kindOf: (name) => kindOf(name, [], start),
    startable: async (env) =>
      Promise.all(
        startableKinds([], start).map(async (kind) => {
          const found = await kind.locate?.(env);
          return found?.found === true
            ? { kind: kind.name, available: true, detail: found.program }
            : { kind: kind.name, available: false, detail: found === undefined ? '' : `${found.why} ${found.remedy}` };
        }),
      ),
    onChange: () => undefined,
    close: () => undefined,
  };
}
