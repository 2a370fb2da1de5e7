import { expect, test } from 'vitest';
import { aliasTrouble } from './alias.ts';

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
  const trouble = aliasTrouble(alias);
  expect([trouble?.step, trouble?.code]).toEqual(['alias', 'alias-refused']);
  expect(trouble?.message).toMatch(/cannot be the name of an SSH host: .+\.$/u);
  expect(trouble?.message).not.toMatch(/[\p{C}]/u);
});

test.each(['box', 'me@box', 'box.example.org', 'fe80::1%eth0', 'ssh://me@box:2222', 'a_b-c', 'größe'])(
  '%j may be used',
  (alias) => {
    expect(aliasTrouble(alias)).toBeNull();
  },
);
