/** Example rolls with hosts in every state, questions of ssh, and hosts to be added. */
import type { HostEntry, Question, Roll, SshEntry, SshStepEntry } from '../../app/roll/schema.ts';
import { emptyRoll, exampleRoll, TAKEN_AT } from './rolls.ts';

const at = (ms: number): string => new Date(TAKEN_AT.getTime() + ms).toISOString();

const DETAILS: Readonly<Record<SshStepEntry['step'], string | null>> = {
  resolve: 'deploy@web-eu.example.net, port 2222, via bastion',
  name: '203.0.113.24',
  port: 'port 2222',
  'host-key': 'ED25519, in known_hosts',
  authentication: 'with a key from ssh-agent',
  shell: '/bin/sh, Linux 6.1',
  probe: '418 processes, 2 listening like agent servers',
  forward: null,
};
const ORDER = Object.keys(DETAILS) as SshStepEntry['step'][];

/** Every step before `step` done, that one in `state`, the others to come. */
export function stepsTo(step: SshStepEntry['step'], state: SshStepEntry['state']): SshStepEntry[] {
  const place = ORDER.indexOf(step);
  return ORDER.map((each, index) =>
    index === place
      ? { step: each, state, detail: null }
      : index < place
        ? { step: each, state: 'done' as const, detail: DETAILS[each] }
        : { step: each, state: 'waiting' as const, detail: null },
  );
}

export function sshEntry(alias: string, over: Partial<SshEntry> = {}): SshEntry {
  return {
    alias,
    saved: true,
    connect: 'at-start',
    sharedWith: null,
    target: `deploy@${alias}.example.net:22`,
    steps: stepsTo('forward', 'done'),
    attempt: 0,
    retryAt: null,
    failure: null,
    ...over,
  };
}

/** A host that was never connected, unless `over` says otherwise. */
export function sshHost(name: string, state: HostEntry['state'], over: Partial<HostEntry> = {}): HostEntry {
  return {
    id: `ssh ${name}`,
    name,
    state,
    hostname: name,
    detail: null,
    lookedAt: null,
    counted: 0,
    partial: null,
    signalling: { method: 'verify-then-kill', note: 'The process is proved and signalled in one script on the host.' },
    cpuPercent: null,
    memoryTotalBytes: null,
    memoryUsedBytes: null,
    load1: null,
    ssh: sshEntry(name),
    ...over,
  };
}

export const DENIED: NonNullable<SshEntry['failure']> = {
  step: 'authentication',
  code: 'permission-denied',
  message: 'web-eu did not let deploy@web-eu in. It takes publickey; tried: publickey.',
  remedy: 'Check the user name and the key, or connect and enter the password.',
  output:
    'debug1: Offering public key: /home/ada/.ssh/id_ed25519 ED25519 agent\ndeploy@web-eu: Permission denied (publickey).',
};

export const CHANGED: NonNullable<SshEntry['failure']> = {
  step: 'host-key',
  code: 'changed-host-key',
  message:
    'The host key of build-02 HAS CHANGED, so this may be another machine that poses as it. It shows ED25519 SHA256:b0VxN3rS5jUqHtD7yAo2kLf9PzW6cGm1Xe8TiR4nBs0. Line 27 of /home/ada/.ssh/known_hosts names another key.',
  remedy:
    "Ask whoever runs the machine whether its key was changed. Only if it was, remove the old one (ssh-keygen -f '/home/ada/.ssh/known_hosts' -R 'build-02') and connect again.",
  output: '@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nHost key verification failed.',
};

const OFFERED: Roll['offered'] = [
  ...['web-eu', 'web-us', 'webhooks', 'old-web', 'git-mirror', 'nas', 'printer', 'lab-07'].map((alias) => ({
    alias,
    from: 'config' as const,
  })),
  { alias: 'ssh://web-old.example.net:2222', from: 'known-hosts' },
];

/** The example, and a host in every other state; some to be added. */
export function hostsRoll(): Roll {
  const roll = exampleRoll();
  return {
    ...roll,
    hosts: [
      ...roll.hosts,
      sshHost('web-us', 'connecting', { ssh: sshEntry('web-us', { steps: stepsTo('host-key', 'running') }) }),
      sshHost('web-asia', 'authenticating', {
        ssh: sshEntry('web-asia', { steps: stepsTo('authentication', 'running') }),
      }),
      sshHost('web-eu', 'failed', {
        ssh: sshEntry('web-eu', {
          steps: stepsTo('authentication', 'failed'),
          failure: DENIED,
          target: 'deploy@web-eu:22',
        }),
      }),
      sshHost('build-02', 'failed', {
        ssh: sshEntry('build-02', { steps: stepsTo('host-key', 'failed'), failure: CHANGED }),
      }),
      sshHost('winbox', 'unsupported', {
        ssh: sshEntry('winbox', {
          steps: stepsTo('shell', 'failed'),
          failure: {
            step: 'shell',
            code: 'windows',
            message: 'winbox runs Windows, where Rollcall cannot prove processes over SSH.',
            remedy: 'Run Rollcall on it.',
            output: null,
          },
        }),
      }),
      sshHost('build-01.lan', 'connected', {
        lookedAt: at(-1000),
        ssh: sshEntry('build-01.lan', { sharedWith: 'build-01' }),
      }),
      sshHost('myself', 'connected', {
        lookedAt: at(-1000),
        ssh: sshEntry('myself', { sharedWith: 'local', saved: false }),
      }),
    ],
    offered: OFFERED,
  };
}

/** Nothing runs anywhere, and ssh knows some hosts. */
export function firstRunRoll(): Roll {
  return { ...emptyRoll(), offered: OFFERED };
}

export function question(type: Question['type'], over: Partial<Question> = {}): Question {
  const texts: Readonly<Record<Question['type'], string>> = {
    password: "deploy@web-asia.example.net's password: ",
    passphrase: "Enter passphrase for key '/home/ada/.ssh/id_ed25519': ",
    code: 'Verification code: ',
    'host-key':
      "The authenticity of host 'web-asia.example.net (203.0.113.9)' can't be established.\nED25519 key fingerprint is SHA256:q7Zt0sYhLw3B9nVfRkE5uXa2mGdC8pJrT4iOy6HSvNc.\nThis key is not known by any other names.\nAre you sure you want to continue connecting (yes/no/[fingerprint])? ",
    confirm: 'Allow use of key id_ed25519?\nKey fingerprint SHA256:q7Zt0sYh.',
  };
  return {
    id: `q-${type}`,
    host: 'web-asia',
    type,
    text: texts[type],
    fingerprint: type === 'host-key' ? 'SHA256:q7Zt0sYhLw3B9nVfRkE5uXa2mGdC8pJrT4iOy6HSvNc' : null,
    keyPath: type === 'passphrase' ? '/home/ada/.ssh/id_ed25519' : null,
    attempt: 1,
    until: at(113_000),
    ...over,
  };
}

/** The hosts, one of which asks. */
export function askingRoll(...questions: readonly Question[]): Roll {
  return { ...hostsRoll(), questions: [...questions] };
}
