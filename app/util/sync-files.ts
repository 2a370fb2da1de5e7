/** Writes that are over when they return, for what must be on disk before anything follows from it. */
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';

/** Writes all of it: a disk that is nearly full takes a part of what it is given. Throws the system's error. */
export function writeWhole(descriptor: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length; done += writeSync(descriptor, bytes, done));
}

/** Makes a new name in a folder last through a power cut. Windows cannot open folders and needs no such thing. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
