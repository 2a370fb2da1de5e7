import type { Paths } from '../config/paths.ts';
import { createLocalHost } from '../hosts/local/local-host.ts';
import { inlineLooker } from '../hosts/local/look/looker.ts';
import { refOf } from '../hosts/process-info.ts';
import { recognise } from '../servers/recognition/recognise.ts';
import { IdempotencyStore } from './idempotency-store.ts';

export interface OpenIdempotencyStore {
  run: IdempotencyStore['run'];
  close(): Promise<void>;
}

/**
 * The keys of a state folder, with this process's identity and a host that tells whether others live.
 *
 * @throws when this machine or this process cannot be told
 */
export async function openIdempotencyStore(paths: Pick<Paths, 'onceDir' | 'stateDir'>): Promise<OpenIdempotencyStore> {
  const host = await createLocalHost({ looker: inlineLooker(recognise), stateDir: paths.stateDir });
  try {
    const info = await host.inspect(process.pid);
    if (info === null) throw new Error('this process could not be read; check that /proc is mounted');
    const once = new IdempotencyStore({ folder: paths.onceDir, self: refOf(info), verify: (ref) => host.verify(ref) });
    return { run: (key, work) => once.run(key, work), close: () => host.close() };
  } catch (error) {
    await host.close();
    throw error;
  }
}
