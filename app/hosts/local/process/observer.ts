import { createHmac, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Observer } from '../../../identity/identity.ts';
import { codeOf } from '../../../util/errors.ts';

/** The observer's place could not be told, so no identity can be made or judged. */
export class ObserverUnknown extends Error {
  override readonly name = 'ObserverUnknown';
  readonly part: string;
  constructor(part: string, cause: unknown) {
    super(`The ${part} of this machine could not be read, so no process can be identified.`, { cause });
    this.part = part;
  }
}

/**
 * machine-id(5) asks applications never to show the id itself, but a keyed hash of it. The key is no secret: it only
 * makes our ids differ from those of other applications.
 */
const APPLICATION_KEY = 'rollcall host identity v1';

function readId(path: string): string | null {
  try {
    const text = readFileSync(path, 'utf8').trim();
    // systemd writes `uninitialized` while the first boot has not chosen yet.
    return text === '' || text === 'uninitialized' ? null : text;
  } catch {
    return null; // absent or not for us to read: the next source is asked
  }
}

/** A random id, made once and kept in the state folder, for machines that have none of their own. */
export function keptId(stateDir: string): string {
  const path = join(stateDir, 'host-id');
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  try {
    writeFileSync(path, `${randomUUID()}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  const id = readId(path);
  if (id === null) throw new Error(`${path} is empty`);
  return id;
}

export interface ObserverSources {
  /** Root that `etc/machine-id` and `sys/class/dmi` are looked up below; `/` but in tests. */
  readonly systemRoot?: string;
  readonly procRoot?: string;
  readonly stateDir: string;
}

/** What is shown and recorded in place of a machine's own id: 32 hex digits. */
export function hashedHostId(id: string): string {
  return createHmac('sha256', APPLICATION_KEY).update(id).digest('hex').slice(0, 32);
}

/** A keyed hash of what is lasting and unique about this machine: never its name, never its boot. 32 hex digits. */
export function hostId(sources: ObserverSources): string {
  const root = sources.systemRoot ?? '/';
  try {
    const id =
      readId(join(root, 'etc/machine-id')) ??
      readId(join(root, 'sys/class/dmi/id/product_uuid')) ??
      keptId(sources.stateDir);
    return hashedHostId(id);
  } catch (error) {
    throw new ObserverUnknown('identity', error);
  }
}

/** Where this process stands: machine, boot, PID namespace. Throws `ObserverUnknown`. Linux only. */
export function linuxObserver(sources: ObserverSources): Observer {
  const proc = sources.procRoot ?? '/proc';
  let bootId: string;
  try {
    bootId = readFileSync(`${proc}/sys/kernel/random/boot_id`, 'utf8').trim();
  } catch (error) {
    throw new ObserverUnknown('boot', error);
  }
  let pidNamespace: string;
  try {
    pidNamespace = namespaceId(readlinkSync(`${proc}/self/ns/pid`));
  } catch (error) {
    throw new ObserverUnknown('PID namespace', error);
  }
  return { hostId: hostId(sources), bootId, pidNamespace };
}

/** The number in `pid:[4026531836]`. */
export function namespaceId(link: string): string {
  return link.match(/\[(\d+)\]$/u)?.[1] ?? link;
}
