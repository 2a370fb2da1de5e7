import { lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ConfigUnreadable, removeHost, saveHost } from './edit.ts';
import { loadConfig } from './load.ts';

let root: string;
let file: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rollcall-edit-'));
  file = join(root, 'rollcall', 'config.json');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const hosts = () => {
  const { config, problems } = loadConfig(file);
  expect(problems).toEqual([]);
  return config.hosts;
};

test('a first host makes the file, for us alone', async () => {
  await saveHost(file, 'build-01', { alias: 'build-01', connect: 'at-start' }, null);
  expect(hosts()).toEqual({ 'build-01': { connect: 'at-start', start: {} } });
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('comments and everything else stay; a renamed host keeps what the window does not show', async () => {
  await saveHost(file, 'first', { alias: 'dev@first.example', connect: 'when-asked' }, null);
  const text = `{
  // mine
  "leak": { "graceSeconds": 30 }, /* thirty */
  "hosts": {
    // the big one
    "build-01": { "connect": "when-asked", "start": { "opencode": { "path": "/opt/opencode" } } },
  },
}
`;
  writeFileSync(file, text);
  await saveHost(file, 'builder', { alias: 'build-01', connect: 'at-start' }, 'build-01');
  const after = readFileSync(file, 'utf8');
  expect(after).toContain('// mine');
  expect(after).toContain('/* thirty */');
  expect(hosts()).toEqual({
    builder: { alias: 'build-01', connect: 'at-start', start: { opencode: { path: '/opt/opencode' } } },
  });
  await removeHost(file, 'builder');
  expect(hosts()).toEqual({});
  expect(readFileSync(file, 'utf8')).toContain('// mine');
});

test('a file that is broken is left as it is', async () => {
  await saveHost(file, 'a', { alias: 'a', connect: 'when-asked' }, null);
  for (const broken of ['{ "hosts": {', '[]', 'nonsense']) {
    writeFileSync(file, broken);
    await expect(saveHost(file, 'b', { alias: 'b', connect: 'when-asked' }, null)).rejects.toThrow(ConfigUnreadable);
    await expect(removeHost(file, 'a')).rejects.toThrow(/was not changed: it is no JSON object\. Mend it by hand/u);
    expect(readFileSync(file, 'utf8')).toBe(broken);
  }
});

test('what is not where it has to be is told in words, and nothing is written', async () => {
  mkdirSync(join(root, 'rollcall'));
  for (const [odd, why] of [
    ['{ "hosts": [] }', 'its "hosts" is a list where an object has to be'],
    ['{ "hosts": ["b"] }', 'its "hosts" is a list where an object has to be'],
    ['{ "hosts": null }', 'its "hosts" is null where an object has to be'],
    ['{ "hosts": "x" }', 'its "hosts" is a text where an object has to be'],
    ['{ "hosts": true }', 'its "hosts" is true or false where an object has to be'],
    ['{ "hosts": { "b": "x" } }', 'its "hosts.b" is a text where an object has to be'],
    ['{ "hosts": { "b": {}, "b": {} } }', 'it has "hosts.b" twice'],
    ['{ "hosts": {}, "hosts": {} }', 'it has "hosts" twice'],
  ] as const) {
    writeFileSync(file, odd);
    const saving = saveHost(file, 'b', { alias: 'b', connect: 'when-asked' }, null);
    await expect(saving).rejects.toThrow(ConfigUnreadable);
    await expect(saving).rejects.toThrow(`config.json was not changed: ${why}. Mend it by hand, then try again.`);
    if (!odd.includes('"x" }')) await expect(removeHost(file, 'b')).rejects.toThrow(why);
    expect(readFileSync(file, 'utf8')).toBe(odd);
  }
  // A host that is no object can still be taken out.
  writeFileSync(file, '{ "hosts": { "b": "x" } }');
  await removeHost(file, 'b');
  expect(hosts()).toEqual({});
});

test('a file behind links is written where it is, and the links stay', async () => {
  const dotfiles = join(root, 'dotfiles');
  for (const folder of [dotfiles, join(root, 'rollcall')]) mkdirSync(folder);
  const real = join(dotfiles, 'rollcall.json');
  symlinkSync('rollcall.json', join(dotfiles, 'link.json'));
  symlinkSync('../dotfiles/link.json', file);
  // It leads nowhere yet.
  await saveHost(file, 'a', { alias: 'a', connect: 'at-start' }, null);
  await saveHost(file, 'b', { alias: 'b', connect: 'at-start' }, null);
  await removeHost(file, 'a');
  expect(lstatSync(file).isSymbolicLink()).toBe(true);
  expect(lstatSync(real).isFile()).toBe(true);
  expect(Object.keys(hosts())).toEqual(['b']);
  rmSync(real);
  symlinkSync('link.json', real);
  await expect(removeHost(file, 'b')).rejects.toThrow(/could not be read \(ELOOP\)/u);
});

test('a last member with a comma behind it goes alone', async () => {
  mkdirSync(join(root, 'rollcall'));
  writeFileSync(
    file,
    `{
  "hosts": {
    // first
    "a": {}, // behind a
    /* before b */
    "b": { "alias": "x" }, // behind b
    // last
  },
}
`,
  );
  await removeHost(file, 'b');
  expect(readFileSync(file, 'utf8')).toBe(
    `{
  "hosts": {
    // first
    "a": {}, // behind a
    /* before b */
    // behind b
    // last
  },
}
`,
  );
  await removeHost(file, 'a');
  expect(hosts()).toEqual({});
  expect(readFileSync(file, 'utf8')).toContain('// first\n    // behind a\n');
});

test('hosts that cannot be are left out, with their line', async () => {
  await saveHost(file, 'good', { alias: 'good', connect: 'when-asked' }, null);
  writeFileSync(
    file,
    '{\n"hosts": {\n"good": {},\n"-oProxyCommand=x": {},\n"local": {},\n"odd": { "alias": "-x" },\n"late": { "connect": "soon" } } }',
  );
  const { config, problems } = loadConfig(file);
  expect(Object.keys(config.hosts)).toEqual(['good']);
  expect(problems.map(({ line }) => line)).toEqual([4, 5, 6, 7]);
});
