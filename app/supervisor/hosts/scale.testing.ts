/** Many names of a few machines at once: one connection and one list of servers each, and nothing left after the quit. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readAudit } from '../../audit/audit.ts';
import { parseStat } from '../../hosts/local/procfs/stat.ts';
import { until } from '../../hosts/local/testing/processes.ts';
import { sshConfig, sshdProblem, type TestSshd, testSshd } from '../../hosts/ssh/testing/sshd.ts';
import { installFake } from '../testing/fake-opencode.ts';
import { openWorld } from '../testing/world.ts';

const problem = sshdProblem();
export interface Scale {
  readonly machines: number;
  readonly aliases: number;
  /** Looks that are taken while they are watched. */
  readonly looks: number;
}

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

/** Registers the test. */
export function testScale({ machines, aliases: count, looks }: Scale): void {
  const name = `${count} aliases of ${machines} machines are ${machines} connections, list each server once, and leave nothing`;
  test(name, async (context) => {
    if (problem !== null) return context.skip(problem);
    const boxes = await Promise.all(Array.from({ length: machines }, () => testSshd({ machine: true })));
    const aliases: Record<string, readonly [TestSshd, ...string[]]> = {};
    const hosts: Record<string, unknown> = {};
    for (let n = 0; n < count; n += 1) {
      const box = boxes[n % machines];
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
        names.slice(0, machines * 2).map((host, n) => {
          const directory = join(boxes[n % machines]?.folder ?? '', 'project');
          const wish = { kind: 'opencode', directory, port: null, forPid: null, keepRunning: false } as const;
          return world.core.run({ command: 'start', host, ...wish }, 'cli');
        }),
      );
      // Two names of a machine asked for the same server at once.
      expect(new Set(started.map((each) => (each.ok ? each.server?.id : 'failed'))).size).toBe(machines);
      // A second way to a machine is let go of once the contact has shown where it leads.
      await until('each connection is one ssh of ours', () => masters().length === machines);
      await world.looks(looks);
      const { roll } = world.core;
      expect(roll.hosts.filter(({ ssh, state }) => ssh !== null && state === 'connected')).toHaveLength(count);
      const remote = roll.servers.filter(({ host }) => host !== 'local');
      expect(remote.map(({ standing }) => standing)).toEqual(Array.from({ length: machines }, () => 'supervised'));
      expect(masters()).toHaveLength(machines);
      // An sshd that begins a command looks like one with a connection of its own for a moment.
      await until('each machine has one connection', () => boxes.every((box) => box.connections().length === 1));
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
  }, 600_000);
}
