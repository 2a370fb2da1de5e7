import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../local/testing/processes.ts';
import { hostSuggestions, splitLine } from './offered.ts';
import { hostsOnDisk } from './offered-files.ts';

function offered(files: Readonly<Record<string, string>>): readonly string[] {
  const input = {
    home: '/home/me',
    configFile: '/home/me/.ssh/config',
    knownHostsFiles: ['/home/me/.ssh/known_hosts'],
    readFile: (path: string) => files[path] ?? null,
    glob: (pattern: string) => {
      const matches = new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}$`, 'u');
      return Object.keys(files).filter((path) => matches.test(path));
    },
  };
  return hostSuggestions(input).map(({ alias, from }) => `${alias} (${from})`);
}

test('aliases of Host lines are offered, patterns and negations are not', () => {
  const config = `
# Host comment
Host web db.example.org  web2 # and more
  HostName 10.0.0.1
Host *.internal !bad ? *
host = "with quotes"
HOST='single' plain
Host	tabbed
Match host other
  User x
HostName nobody
`;
  expect(offered({ '/home/me/.ssh/config': config })).toEqual(
    ['web', 'db.example.org', 'web2', 'single', 'plain', 'tabbed'].map((alias) => `${alias} (config)`),
  );
});

test('Include is followed from ~/.ssh, with globs, tildes, quotes and equals signs, and a circle ends', () => {
  expect(
    offered({
      '/home/me/.ssh/config': 'Include conf.d/* "~/.ssh/my hosts"\nInclude=/etc/hosts.ssh\nHost last\n',
      '/home/me/.ssh/conf.d/one': 'Host one\nInclude config\n',
      '/home/me/.ssh/conf.d/two': 'Host two\nInclude conf.d/one\n',
      '/home/me/.ssh/my hosts': 'Host mine\n',
      '/etc/hosts.ssh': 'Host system\n',
    }),
  ).toEqual(['one', 'two', 'mine', 'system', 'last'].map((alias) => `${alias} (config)`));
});

test('known_hosts offers names and ports, once, and neither hashed, marked, wild nor commented lines', () => {
  expect(
    offered({
      '/home/me/.ssh/config': 'Host web\n',
      '/home/me/.ssh/known_hosts': `# comment
web,10.0.0.1 ssh-ed25519 AAAA
[box.example.org]:2222,[fe80::1]:22 ssh-rsa AAAA
|1|abc=|def= ssh-rsa AAAA
@cert-authority *.example.org ssh-rsa AAAA
@revoked gone ssh-rsa AAAA
*.wild ssh-rsa AAAA
-oProxyCommand=x ssh-rsa AAAA
`,
    }),
  ).toEqual([
    'web (config)',
    ...['10.0.0.1', 'ssh://box.example.org:2222', 'ssh://[fe80::1]:22'].map((alias) => `${alias} (known_hosts)`),
  ]);
});

test('a chain of includes that never ends, and ten thousand hosts, stay bounded', () => {
  const files: Record<string, string> = { '/home/me/.ssh/config': 'Include f0\n' };
  for (let n = 0; n < 100; n += 1) files[`/home/me/.ssh/f${n}`] = `Host h${n}\nInclude f${n + 1}\n`;
  expect(offered(files).length).toBe(16);
  const many = Array.from({ length: 10_000 }, (_, n) => `Host m${n}`).join('\n');
  expect(offered({ '/home/me/.ssh/config': many }).length).toBe(2000);
});

test('any text is read without harm, and every offered name could be used', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      splitLine(text);
      for (const alias of offered({ '/home/me/.ssh/config': `Host ${text}`, '/home/me/.ssh/known_hosts': text })) {
        expect(alias).toMatch(/^[^-\s]/u);
      }
    }),
  );
});

test('on disk: included by pattern, hidden and unreadable files left out', () => {
  const home = temporaryFolder();
  const ssh = join(home, '.ssh');
  mkdirSync(join(ssh, 'conf.d', 'sub'), { recursive: true });
  const write = (name: string, text: string): void => writeFileSync(join(ssh, name), text);
  write('config', 'Include conf.d/*.conf ~/.ssh/conf.d/[x-z]?st /no/such/folder/* conf.d/[z-a]*\nInclude conf.d/sub\n');
  write('conf.d/b.conf', 'Host b\n');
  write('conf.d/a.conf', 'Host a\n');
  write('conf.d/.hidden.conf', 'Host hidden\n');
  write('conf.d/a.config', 'Host other\n');
  write('conf.d/zest', 'Host zest\n');
  write('conf.d/rest', 'Host rest\n');
  write('known_hosts', 'known ssh-ed25519 AAAA\n');
  const aliases = hostsOnDisk(home, null).map(({ alias }) => alias);
  expect(aliases.slice(0, 4)).toEqual(['a', 'b', 'zest', 'known']);
  expect(hostsOnDisk(home, join(ssh, 'conf.d', 'b.conf'))).toEqual([{ alias: 'b', from: 'config' }]);
  expect(hostsOnDisk(join(home, 'nobody'), '/dev/zero')).toEqual([]);
});
