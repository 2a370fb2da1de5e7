import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { PYTHON } from '../../local/testing/processes.ts';
import { SHELLS } from '../testing/shells.ts';

const FOLDER = dirname(fileURLToPath(import.meta.url));
const named = (end: string): string[] => readdirSync(FOLDER).filter((name) => name.endsWith(end));

describe.each(SHELLS)('$name', ({ argv, missing }) => {
  test.each(named('.sh'))('understands %s', (name) => {
    if (missing !== null) return expect(missing).toContain('not installed');
    const [program, ...args] = argv;
    const { stderr, status } = spawnSync(program, [...args.filter((arg) => arg !== '-s'), '-n', join(FOLDER, name)]);
    expect(stderr.toString()).toBe('');
    expect(status).toBe(0);
  });
});

test.each(named('.py'))('python understands %s', (name) => {
  const code = readFileSync(join(FOLDER, name), 'utf8');
  const parsed = spawnSync(PYTHON, ['-c', 'import ast, sys; ast.parse(sys.stdin.read())'], { input: code });
  expect(parsed.stderr.toString()).toBe('');
});
