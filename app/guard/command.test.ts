import { expect, test } from 'vitest';
import { guardCommand } from './command.ts';

test('Electron is run as Node, and only Electron', () => {
  const electron = { execPath: '/opt/rollcall/rollcall', versions: { electron: '45.5.0' } };
  expect(guardCommand('/app/out', { PATH: '/bin' }, electron)).toMatchObject({
    program: '/opt/rollcall/rollcall',
    env: { PATH: '/bin', ELECTRON_RUN_AS_NODE: '1' },
  });
  const node = { execPath: '/usr/bin/node', versions: {} };
  expect(guardCommand('/app/out', { ELECTRON_RUN_AS_NODE: '1' }, node).env).toEqual({});
});

test('marks of servers and options meant for us are not handed on', () => {
  const env = {
    OPENCODE_PID: '1',
    OPENCODE: '1',
    KILO_PID: '1',
    ROLLCALL_NONCE: 'n',
    ROLLCALL_KIND: 'k',
    NODE_OPTIONS: '--inspect',
    ELECTRON_ENABLE_LOGGING: '1',
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    ROLLCALL_STATE_DIR: '/state',
  };
  expect(guardCommand('/out', env, { execPath: 'node', versions: {} }).env).toEqual({
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    ROLLCALL_STATE_DIR: '/state',
  });
});

test('out of a package it is taken from beside the archive, which an upgrade would replace', () => {
  const { args } = guardCommand('/opt/Rollcall/resources/app.asar/out', {}, { execPath: 'x', versions: {} });
  expect(args.at(-1)).toBe('/opt/Rollcall/resources/app.asar.unpacked/out/guard.js');
  expect(guardCommand('/src/out', {}, { execPath: 'x', versions: {} }).args.at(-1)).toBe('/src/out/guard.js');
});
