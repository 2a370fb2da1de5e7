/**
 * A supervisor in a process of its own, so that everything it does to others can be seen from outside. It reads one
 * request a line, as JSON, and answers each with one line.
 */
import { readlinkSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { resolvePaths } from '../../config/paths.ts';
import { openLocalCore } from '../../core/local-core.ts';
import { inlineLooker } from '../../hosts/local/look/looker.ts';
import type { Command } from '../../roll/commands.ts';
import { recognise } from '../../servers/recognition/recognise.ts';

export type Request =
  | { readonly ask: 'roll' }
  | { readonly ask: 'run'; readonly command: Command }
  | { readonly ask: 'plan'; readonly targets: 'leaked' | readonly string[] }
  | { readonly ask: 'close'; readonly stopServers: boolean };

const core = await openLocalCore({
  paths: resolvePaths({
    env: process.env,
    platform: process.platform,
    uid: process.getuid?.() ?? null,
    home: process.env['HOME'] ?? '/',
  }),
  lock: null,
  looker: inlineLooker(recognise),
});

async function answer(request: Request): Promise<unknown> {
  switch (request.ask) {
    case 'roll':
      return core.roll;
    case 'run':
      return core.run(request.command, 'window');
    case 'plan':
      return core.plan(request.targets);
    case 'close':
      return core.close(request.stopServers, 10_000);
  }
}

const say = (value: unknown): unknown => process.stdout.write(`${JSON.stringify(value)}\n`);
// The process may look at a PID namespace of its own, where numbers mean others.
say({ pid: process.pid, place: readlinkSync('/proc/self/ns/pid') });
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line) as Request;
  say(await answer(request));
  if (request.ask === 'close') break;
}
process.exit(0);
