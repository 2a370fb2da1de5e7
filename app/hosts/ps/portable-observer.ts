/** Where this process stands on a machine without procfs. macOS and Windows could not be tried where this was written. */
import type { Observer } from '../../identity/identity.ts';
import { hashedHostId, keptId, ObserverUnknown } from '../local/process/observer.ts';
import { runLister } from './portable-processes.ts';

/** Firmware that was never given an id repeats one of these. */
const NO_ID = /^[0f-]*$/iu;

/** A text that stays the same for one boot and is another for the next. */
async function bootText(): Promise<string> {
  const ask = async (program: string, args: readonly string[]): Promise<string> => {
    const { stdout, stderr } = await runLister(program, args, 20_000);
    const text = stdout.trim();
    if (text === '') throw new Error(stderr.trim() || `${program} said nothing`);
    return text;
  };
  switch (process.platform) {
    case 'darwin':
      // Unlike kern.boottime it is no time, so that setting the clock does not change it.
      return ask('sysctl', ['-n', 'kern.bootsessionuuid']);
    case 'win32':
      return ask('powershell.exe', [
        '-NoProfile',
        '-NonInteractive',
        '-Command',
        '(Get-CimInstance Win32_OperatingSystem).LastBootUpTime.ToUniversalTime().Ticks',
      ]);
    default:
      return ask('ps', ['-o', 'lstart=', '-p', '1']);
  }
}

/** Throws `ObserverUnknown`. */
export async function portableObserver(stateDir: string): Promise<Observer> {
  const { default: systeminformation } = await import('systeminformation');
  let bootId: string;
  try {
    bootId = await bootText();
  } catch (error) {
    throw new ObserverUnknown('boot', error);
  }
  try {
    const { os, hardware } = await systeminformation.uuid();
    const id = [hardware, os].find((text) => text !== '' && !NO_ID.test(text)) ?? keptId(stateDir);
    // These systems have one table of processes for all.
    return { hostId: hashedHostId(id), bootId, pidNamespace: 'none' };
  } catch (error) {
    throw new ObserverUnknown('identity', error);
  }
}
