import type { Paths } from '../config/paths.ts';
import { createLocalHost } from '../hosts/local/local-host.ts';
import { inlineLooker } from '../hosts/local/look/looker.ts';
import { refOf } from '../hosts/process-info.ts';
import { recognise } from '../servers/recognition/recognise.ts';
import { Once } from './once.ts';

export interface OpenOnce {
  run: Once['run'];
  close(): Promise<void>;
}

/**
 * The keys of a state folder, with this process's identity and a host that tells whether others live.
 *
 * @throws when this machine or this process cannot be told
 */
export async function openOnce(paths: Pick<Paths, 'onceDir' | 'stateDir'>): Promise<OpenOnce> {
  const host = await createLocalHost({ looker: inlineLooker(recognise), stateDir: paths.stateDir });
  try {
    const info = await host.inspect(process.pid);
    if (info === null) throw new Error('this process could not be read; check that /proc is mounted');
    const once = new Once({ folder: paths.onceDir, self: refOf(info), verify: (ref) => host.verify(ref) });
    return { run: (key, work) => once.run(key, work), close: () => host.close() };
  } catch (error) {
    await host.close();
    throw error;
  }
}
