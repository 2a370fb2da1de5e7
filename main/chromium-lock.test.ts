import { spawn } from 'node:child_process';
import { lstatSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { judgeChromiumLock } from './chromium-lock.ts';

let folder = '';
const link = () => join(folder, 'SingletonLock');
const there = () => lstatSync(link(), { throwIfNoEntry: false }) !== undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lock-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

test('E4 the lock of a process that is gone is removed without a word', async () => {
  const child = spawn('true');
  await new Promise((done) => child.once('exit', done));
  symlinkSync(`my-desk-${child.pid}`, link());
  expect(judgeChromiumLock(folder, 'my-desk')).toBeNull();
  expect(there()).toBe(false);
});

test('E4 the lock of a living stranger, of another host and of nobody stays and is explained', () => {
  symlinkSync(`desk-${process.pid}`, link());
  expect(judgeChromiumLock(folder, 'desk')).toContain(`names PID ${process.pid} of this machine`);
  rmSync(link());
  symlinkSync('other-host-4711', link());
  expect(judgeChromiumLock(folder, 'desk')).toContain('PID 4711 on host other-host; this machine is desk');
  rmSync(link());
  symlinkSync('nonsense', link());
  expect(judgeChromiumLock(folder, 'desk')).toContain('names no process');
  expect(there()).toBe(true);
});

test('no lock is nothing to say', () => {
  expect(judgeChromiumLock(folder, 'desk')).toBeNull();
});
