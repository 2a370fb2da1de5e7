import { expect, test } from 'vitest';
import { parseConfig } from '../../../config/load.ts';
import { aliasProblem } from './alias.ts';

/** Names of the hosts that count of two, one called that and one with that alias. */
function saved(alias: string): string[] {
  const hosts = { [alias]: {}, saved: { alias } };
  return Object.keys(parseConfig(JSON.stringify({ hosts }), 'config.json').config.hosts);
}

test.each([
  '',
  '-oProxyCommand=touch /tmp/x',
  '-',
  'me@-oProxyCommand=x',
  'ssh://-x',
  'two words',
  'tab\there',
  'new\nline',
  'nul\0byte',
  'bidi\u202ename',
  'a;b',
  '$(id)',
  '`id`',
  'a|b',
  'a&b',
  "a'b",
  'a"b',
  'web*',
  '!web',
  'a,b',
  'x'.repeat(600),
])('%j is refused', (alias) => {
  const problem = aliasProblem(alias);
  expect([problem?.step, problem?.code]).toEqual(['alias', 'alias-refused']);
  expect(problem?.message).toMatch(/cannot be the name of an SSH host: .+\.$/u);
  expect(problem?.message).not.toMatch(/[\p{C}]/u);
  // Nor is it saved: the configuration goes by the same rule.
  expect(saved(alias)).toEqual([]);
});

test.each(['box', 'me@box', 'box.example.org', 'fe80::1%eth0', 'ssh://me@box:2222', 'a_b-c', 'größe'])(
  '%j may be used',
  (alias) => {
    expect(aliasProblem(alias)).toBeNull();
    expect(saved(alias)).toEqual([alias, 'saved']);
  },
);
