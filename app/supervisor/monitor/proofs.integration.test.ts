/** What a row says of an identity is what an act finds: both ask the same check. */
import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { start, temporaryFolder } from '../../hosts/local/testing/processes.ts';
import { refOf } from '../../hosts/process-info.ts';
import { remoteHost } from '../../hosts/ssh/testing/remote.ts';
import { LocalExec, SHELLS } from '../../hosts/ssh/testing/shells.ts';
import { identityKey } from '../../identity/identity.ts';
import { Proofs } from './proofs.ts';

const TOOLS = ['cat', 'grep', 'id', 'ls', 'readlink', 'sed', 'sleep', 'stat', 'tr', 'uname', 'head'];

test.each([
  ['with every tool', true],
  ['without sha256sum, which reads what is compared', false],
])('%s', async (_, whole) => {
  const [dash] = SHELLS;
  if (dash === undefined) throw new Error('no shell to test with');
  const path = temporaryFolder();
  for (const tool of whole ? [...TOOLS, 'sha256sum'] : TOOLS) {
    const program = [`/usr/bin/${tool}`, `/bin/${tool}`].find((each) => existsSync(each));
    if (program !== undefined) symlinkSync(program, join(path, tool));
  }
  const exec = new LocalExec({ ...dash, path }, { env: { HOME: temporaryFolder() } });
  const { host } = await remoteHost(exec);
  const sleeper = start('sleep', ['600']);
  const info = await host.inspect(sleeper.pid);
  if (info === null) throw new Error('the process is not there');
  const proofs = new Proofs(host);
  await proofs.update([info]);
  const said = proofs.whyNot(identityKey(info.identity));
  const outcome = await (await host.hold(refOf(info))).signal('SIGTERM');
  if (whole) expect([said, outcome]).toEqual([null, { sent: true }]);
  else expect(outcome).toEqual({ sent: false, verdict: { verdict: 'unknown', why: said } });

  // What has verified with its evidence is not asked for again.
  exec.counted = 0;
  await proofs.update([info]);
  expect(exec.counted).toBe(whole ? 0 : 1);
});
