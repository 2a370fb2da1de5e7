/** Fifty names of a few machines at once: one connection and one list of servers each, and nothing left after the quit. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseStat } from '../../hosts/local/procfs/stat.ts';
import { until } from '../../hosts/local/testing/processes.ts';
import { sshConfig, sshdTrouble, type TestSshd, testSshd } from '../../hosts/ssh/testing/sshd.ts';
import { readAudit } from '../audit.ts';
import { installFake } from '../fake-opencode.testing.ts';
import { openWorld } from '../world.testing.ts';

const trouble = sshdTrouble();
const MACHINES = 6;
const ALIASES = 50;
/** Looks that are taken while they are watched. */
const LOOKS = 3;
/** How long they are watched at least, in seconds; `docs/verified.md` tells of a run of a minute. */
const WATCH_S = Number(process.env['ROLLCALL_SCALE_SECONDS'] ?? 0);

/** PIDs of ssh processes that this process has. */
function ourSsh(): number[] {
  const children = readdirSync('/proc').filter((name) => /^\d+$/u.test(name));
  return children.map(Number).filter((pid) => isOurSsh(pid));
}

function isOurSsh(pid: number): boolean {
  try {
    const stat = parseStat(readFileSync(`/proc/${pid}/stat`));
    return stat?.ppid === process.pid && stat.comm === 'ssh' && stat.state !== 'Z';
  } catch {
    return false; // ended meanwhile
  }
}

/** Those that hold a connection; a command is a client of one, which comes and goes. */
function masters(): number[] {
  return ourSsh().filter((pid) => {
    try {
      return !readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('ProxyCommand=false');
    } catch {
      return false; // ended meanwhile
    }
  });
}

test.skipIf(trouble !== null)(
  `${ALIASES} aliases of ${MACHINES} machines are ${MACHINES} connections, list each server once, and leave nothing (${trouble ?? 'real sshds'})`,
  async () => {
    const boxes = await Promise.all(Array.from({ length: MACHINES }, () => testSshd({ machine: true })));
    const aliases: Record<string, readonly [TestSshd, ...string[]]> = {};
    const hosts: Record<string, unknown> = {};
    for (let n = 0; n < ALIASES; n += 1) {
      const box = boxes[n % MACHINES];
      if (box === undefined) continue;
      const path = installFake(join(box.folder, 'project'));
      // Another name of the address is another way for ssh; only the contact shows that it leads to the same machine.
      const roundabout = n % 10 === 9 ? [`HostKeyAlias [127.0.0.1]:${box.port}`, 'HostName localhost'] : [];
      aliases[`m${n}`] = [box, ...roundabout];
      hosts[`m${n}`] = { start: { opencode: { path } } };
    }
    const world = await openWorld({
      config: { leak: { graceSeconds: 0 }, look: { intervalSeconds: 1 }, hosts },
      env: { ROLLCALL_SSH_CONFIG: sshConfig(aliases) },
    });
    try {
      const names = Object.keys(aliases);
      const connected = await Promise.all(names.map((host) => world.core.run({ command: 'connect', host }, 'cli')));
      expect(connected.filter(({ ok }) => !ok)).toEqual([]);
      const started = await Promise.all(
        names.slice(0, MACHINES * 2).map((host, n) => {
          const directory = join(boxes[n % MACHINES]?.folder ?? '', 'project');
          const wish = { kind: 'opencode', directory, port: null, forPid: null, keepRunning: false } as const;
          return world.core.run({ command: 'start', host, ...wish }, 'cli');
        }),
      );
      // Two names of a machine asked for the same server at once.
      expect(new Set(started.map((each) => (each.ok ? each.server?.id : 'failed'))).size).toBe(MACHINES);
      // A second way to a machine is let go of once the contact has shown where it leads.
      await until('each machine has one connection', () => boxes.every((box) => box.connections().length === 1));
      await until('each connection is one ssh of ours', () => masters().length === MACHINES);
      const end = performance.now() + WATCH_S * 1000;
      do await world.looks(LOOKS);
      while (performance.now() < end);
      const { roll } = world.core;
      expect(roll.hosts.filter(({ ssh, state }) => ssh !== null && state === 'connected')).toHaveLength(ALIASES);
      expect(boxes.map((box) => box.connections().length)).toEqual(boxes.map(() => 1));
      const remote = roll.servers.filter(({ host }) => host !== 'local');
      expect(remote.map(({ standing }) => standing)).toEqual(Array.from({ length: MACHINES }, () => 'supervised'));
      expect(masters()).toHaveLength(MACHINES);
      for (const { id } of remote) {
        expect(await world.core.run({ command: 'stop', server: id, force: false }, 'cli')).toMatchObject({ ok: true });
      }
      expect(readAudit(world.paths.auditFile).filter(({ event }) => event === 'host-lost')).toEqual([]);
    } finally {
      await world.core.close(false, 5000);
    }
    expect(ourSsh()).toEqual([]);
    expect(readdirSync(join(world.paths.runtimeDir, 'ssh'))).toEqual([]);
    await world.dispose();
    await until('no connection is left', () => boxes.every((box) => box.connections().length === 0));
  },
  300_000,
);
