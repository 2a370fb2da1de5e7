import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../testing/processes.ts';
import { hostId, linuxObserver, ObserverUnknown } from './observer.ts';

function system(machineId: string | null, product: string | null = null): string {
  const root = temporaryFolder();
  mkdirSync(join(root, 'etc'));
  mkdirSync(join(root, 'sys/class/dmi/id'), { recursive: true });
  if (machineId !== null) writeFileSync(join(root, 'etc/machine-id'), machineId);
  if (product !== null) writeFileSync(join(root, 'sys/class/dmi/id/product_uuid'), product);
  return root;
}

test('C4 the host is known by its machine id, hashed with a key, not by its name', () => {
  const stateDir = temporaryFolder();
  const id = hostId({ systemRoot: system('0123456789abcdef0123456789abcdef\n'), stateDir });
  expect(id).toMatch(/^[0-9a-f]{32}$/u);
  expect(id).not.toContain('0123456789abcdef');
  expect(hostId({ systemRoot: system('0123456789abcdef0123456789abcdef'), stateDir })).toBe(id);
  expect(hostId({ systemRoot: system('1123456789abcdef0123456789abcdef'), stateDir })).not.toBe(id);
  expect(hostname().length).toBeGreaterThan(0);
});

test.each([null, '', 'uninitialized\n'])("with the machine id %j, the platform's UUID stands in", (machineId) => {
  const stateDir = temporaryFolder();
  const one = hostId({ systemRoot: system(machineId, 'A-UUID\n'), stateDir });
  expect(hostId({ systemRoot: system(null, 'A-UUID'), stateDir })).toBe(one);
});

test('without either, a random id is made once and kept private', () => {
  const stateDir = join(temporaryFolder(), 'state');
  const systemRoot = system(null);
  const id = hostId({ systemRoot, stateDir });
  expect(hostId({ systemRoot, stateDir })).toBe(id);
  expect(statSync(join(stateDir, 'host-id')).mode & 0o777).toBe(0o600);
  expect(hostId({ systemRoot, stateDir: temporaryFolder() })).not.toBe(id);
});

test('an id file that is empty is an error, never everybody’s same host', () => {
  const stateDir = temporaryFolder();
  writeFileSync(join(stateDir, 'host-id'), '');
  expect(() => hostId({ systemRoot: system(null), stateDir })).toThrow(ObserverUnknown);
});

test('boot and namespace come from the process table', () => {
  const procRoot = temporaryFolder();
  mkdirSync(join(procRoot, 'sys/kernel/random'), { recursive: true });
  mkdirSync(join(procRoot, 'self/ns'), { recursive: true });
  expect(() => linuxObserver({ procRoot, stateDir: procRoot })).toThrow(ObserverUnknown);
  writeFileSync(join(procRoot, 'sys/kernel/random/boot_id'), 'a-boot\n');
  symlinkSync('pid:[4026531836]', join(procRoot, 'self/ns/pid'));
  expect(linuxObserver({ procRoot, stateDir: procRoot })).toMatchObject({
    bootId: 'a-boot',
    pidNamespace: '4026531836',
  });
  expect(linuxObserver({ stateDir: procRoot }).bootId).toBe(
    readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
  );
});
