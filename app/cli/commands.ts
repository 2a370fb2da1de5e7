/** Every command: how it is written, what it does, and where its code is. Loaded at each start, so it imports nothing heavy. */
import type { CommandRun } from './io.ts';

export interface Option {
  /** Name of the value it takes; absent for a switch. */
  readonly value?: string;
  readonly help: string;
}

export interface CliCommand {
  readonly usage: string;
  readonly summary: string;
  readonly more: readonly string[];
  readonly options: Readonly<Record<string, Option>>;
  readonly minArgs: number;
  readonly maxArgs: number;
  load(): Promise<CommandRun>;
}

const JSON_OPTION: Option = { help: 'print JSON on standard output; messages go to standard error' };
const YES_OPTION: Option = { help: 'do not ask; needed where there is no terminal to ask on' };
const HOST_OPTION: Option = {
  value: 'NAME',
  help: 'on that host: its name in Rollcall or any ssh alias; it is connected to where it is not',
};
const TARGET = 'PID is a number; ID is the id that list --json and explain show, or at least 4 digits of its start.';
const SESSION =
  'SESSION is the id of a session or its key, as sessions --json shows them, or at least 4 characters of its start.';
const NONCE = 'NONCE is the number that list shows beside a server that ended, or at least 4 digits of its start.';

export const COMMANDS: Readonly<Record<string, CliCommand>> = {
  list: {
    usage: 'list [--watch] [--host NAME] [--json]',
    summary: 'show every server, leftover and stale record, and servers that exited unexpectedly',
    more: ['◆ leaked  ◇ suspect  ● supervised  ◉ owned  ■ service  ○ detached'],
    options: {
      host: HOST_OPTION,
      json: JSON_OPTION,
      watch: { help: 'keep showing it until Ctrl-C; off a terminal only when something changed' },
    },
    minArgs: 0,
    maxArgs: 0,
    load: async () => (await import('./list.ts')).list,
  },
  explain: {
    usage: 'explain PID|ID [--host NAME] [--json]',
    summary: 'say why a server has its standing, or why a process is no server',
    more: [TARGET],
    options: { host: HOST_OPTION, json: JSON_OPTION },
    minArgs: 1,
    maxArgs: 1,
    load: async () => (await import('./explain.ts')).explain,
  },
  sessions: {
    usage: 'sessions [--host NAME] [--all] [--json]',
    summary: 'show every session that is alive, on which server it is and what it does',
    more: [
      '↳ marks a session that another one started. For is how long it has been in its state.',
      'Without the app, every server is listened to for a moment: one that is silent leaves unknown what its sessions do.',
    ],
    options: { host: HOST_OPTION, all: { help: 'also those that ended within the last hour' }, json: JSON_OPTION },
    minArgs: 0,
    maxArgs: 0,
    load: async () => (await import('./sessions.ts')).sessions,
  },
  abort: {
    usage: 'abort SESSION [--yes] [--host NAME] [--json]',
    summary: 'interrupt what a session does; it stays',
    more: [SESSION],
    options: { host: HOST_OPTION, yes: YES_OPTION, json: JSON_OPTION },
    minArgs: 1,
    maxArgs: 1,
    load: async () => (await import('./session-acts.ts')).abort,
  },
  end: {
    usage: 'end SESSION [--yes] [--force] [--host NAME] [--json]',
    summary: 'end a session: its session-end hooks run, its history is kept',
    more: [SESSION, 'It counts as ended until it is used again.'],
    options: { host: HOST_OPTION, yes: YES_OPTION, force: { help: 'also when it is busy' }, json: JSON_OPTION },
    minArgs: 1,
    maxArgs: 1,
    load: async () => (await import('./session-acts.ts')).end,
  },
  hooks: {
    usage: 'hooks [--retry | --forget] [--json]',
    summary: 'show the session-end hooks that have failed, run them once more or give them up',
    more: [],
    options: {
      retry: { help: 'run what has failed once more, with all its attempts' },
      forget: { help: 'give up what has failed' },
      json: JSON_OPTION,
    },
    minArgs: 0,
    maxArgs: 0,
    load: async () => (await import('./hooks.ts')).hooks,
  },
  start: {
    usage: 'start KIND [--dir DIR] [--port PORT] [--for PID] [--keep-running] [--host NAME] [--json]',
    summary: 'start a server and return once it is ready, with its id, PID and URL',
    more: ['KIND is opencode, t3, codex or a kind of the configuration file.'],
    options: {
      host: HOST_OPTION,
      dir: { value: 'DIR', help: 'folder it works in; the current one by default' },
      port: { value: 'PORT', help: 'port it listens on; by default it chooses' },
      for: { value: 'PID', help: 'stop it when this process goes away' },
      'keep-running': { help: 'leave it running when the app quits (always so on other hosts)' },
      json: JSON_OPTION,
    },
    minArgs: 1,
    maxArgs: 1,
    load: async () => (await import('./start.ts')).start,
  },
  stop: {
    usage: 'stop PID|ID [--yes] [--force] [--host NAME] [--json]',
    summary: 'stop a server that Rollcall supervises',
    more: [TARGET],
    options: { host: HOST_OPTION, yes: YES_OPTION, force: { help: 'also when it is busy' }, json: JSON_OPTION },
    minArgs: 1,
    maxArgs: 1,
    load: async () => (await import('./stop.ts')).stop,
  },
  idle: {
    usage: 'idle PID|ID MINUTES|never [--host NAME] [--json]',
    summary: 'stop a supervised server after this long without a busy session or client, or never',
    more: [TARGET, 'The app announces it first, and only the app does it.'],
    options: { host: HOST_OPTION, json: JSON_OPTION },
    minArgs: 2,
    maxArgs: 2,
    load: async () => (await import('./idle.ts')).idle,
  },
  'start-again': {
    usage: 'start-again NONCE [--json]',
    summary: 'start a server again that exited unexpectedly',
    more: [NONCE],
    options: { json: JSON_OPTION },
    minArgs: 1,
    maxArgs: 1,
    load: async () => (await import('./ended.ts')).startAgain,
  },
  forget: {
    usage: 'forget NONCE [--json]',
    summary: 'take a server that exited unexpectedly off the list; it is not started again',
    more: [NONCE],
    options: { json: JSON_OPTION },
    minArgs: 1,
    maxArgs: 1,
    load: async () => (await import('./ended.ts')).forget,
  },
  reap: {
    usage: 'reap PID|ID… | --all [--dry-run] [--yes] [--force] [--host NAME] [--json]',
    summary: 'end leaked servers with their children, and nothing else',
    more: [
      '--all takes what is leaked and leftovers whose server is gone. By PID or id also suspect and detached',
      'servers can be reaped; owned, service, supervised and busy ones need --force as well.',
      'A process that is no recognised server or leftover is always refused.',
      TARGET,
    ],
    options: {
      host: HOST_OPTION,
      all: { help: 'everything that is leaked now, and leftovers' },
      'dry-run': { help: 'show every process that would be signalled, and signal none' },
      yes: YES_OPTION,
      force: { help: 'also the named ones that are owned, a service, supervised or busy' },
      json: JSON_OPTION,
    },
    minArgs: 0,
    maxArgs: 1000,
    load: async () => (await import('./reap.ts')).reap,
  },
  log: {
    usage: 'log PID|ID|NONCE [--host NAME]',
    summary: 'print the end of the log of a server that Rollcall started',
    more: [TARGET, NONCE],
    options: { host: HOST_OPTION },
    minArgs: 1,
    maxArgs: 1,
    load: async () => (await import('./log.ts')).log,
  },
  records: {
    usage: 'records [--host NAME] [--json]',
    summary: 'list records that do not verify, with the reason',
    more: ['Records that verify are the supervised servers of list.'],
    options: { host: HOST_OPTION, json: JSON_OPTION },
    minArgs: 0,
    maxArgs: 0,
    load: async () => (await import('./records.ts')).records,
  },
  clear: {
    usage: 'clear PATH [--host NAME] [--json]',
    summary: 'move a stale record aside, recoverably; nothing is signalled',
    more: ['PATH is the file as records shows it.'],
    options: { host: HOST_OPTION, json: JSON_OPTION },
    minArgs: 1,
    maxArgs: 1,
    load: async () => (await import('./clear.ts')).clear,
  },
  hosts: {
    usage: 'hosts [--json]',
    summary: 'list the hosts: their state, where they lead, their servers, and why one failed',
    more: [],
    options: { json: JSON_OPTION },
    minArgs: 0,
    maxArgs: 0,
    load: async () => (await import('./hosts.ts')).hosts,
  },
  connect: {
    usage: 'connect NAME [--json]',
    summary: 'connect to a host over ssh, or say which step failed',
    more: ['NAME is a name of hosts or any ssh alias. The app keeps the connection; without it this is a test.'],
    options: { json: JSON_OPTION },
    minArgs: 1,
    maxArgs: 1,
    load: async () => (await import('./hosts.ts')).connect,
  },
  disconnect: {
    usage: 'disconnect NAME [--stop] [--yes] [--json]',
    summary: 'disconnect a host; its servers go on unless --stop is given',
    more: ['It is not connected again until somebody asks for it.'],
    options: {
      stop: { help: 'stop the servers that Rollcall supervises there first; asks with what stops' },
      yes: YES_OPTION,
      json: JSON_OPTION,
    },
    minArgs: 1,
    maxArgs: 1,
    load: async () => (await import('./hosts.ts')).disconnect,
  },
  audit: {
    usage: 'audit [--limit N] [--host NAME] [--server PID|ID] [--session ID] [--json]',
    summary: 'show what was signalled and refused, and what became of servers and sessions, the newest last',
    more: ['Secrets are left out.'],
    options: {
      limit: { value: 'N', help: 'how many lines; 50 by default' },
      host: { value: 'NAME', help: 'only of that host, by its name in Rollcall' },
      server: { value: 'PID|ID', help: 'only of that process; of an id, at least 4 digits of its start' },
      session: { value: 'ID', help: 'only of that session: its id, its key or at least 4 characters of its start' },
      json: JSON_OPTION,
    },
    minArgs: 0,
    maxArgs: 0,
    load: async () => (await import('./audit.ts')).audit,
  },
};

/** The text of `rollcall --help`. */
export function helpForAll(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const commands = Object.entries(COMMANDS).map(([name, entry]) => `  ${name.padEnd(width)}  ${entry.summary}`);
  return [
    'rollcall: calls the roll of the AI-coding-agent servers that run here, and reaps the leaked ones',
    '',
    'Usage: rollcall COMMAND [arguments]',
    '',
    ...commands,
    '',
    '  rollcall COMMAND --help   show help for a command',
    '  rollcall --version          show the version',
    '',
    'Exit code: 0 done, 1 refused or failed, 2 the command line was not understood.',
    'ROLLCALL_CONFIG_DIR and ROLLCALL_STATE_DIR say where its files are.',
    '',
  ].join('\n');
}

/** The text of `rollcall COMMAND --help`. */
export function helpFor(entry: CliCommand): string {
  const options = Object.entries(entry.options).map(([name, option]) => {
    const written = option.value === undefined ? `--${name}` : `--${name} ${option.value}`;
    return [written, option.help] as const;
  });
  const width = Math.max(0, ...options.map(([written]) => written.length));
  const lines = [
    `Usage: rollcall ${entry.usage}`,
    '',
    `${entry.summary.charAt(0).toUpperCase()}${entry.summary.slice(1)}.`,
  ];
  if (entry.more.length > 0) lines.push('', ...entry.more);
  if (options.length > 0) lines.push('', ...options.map(([written, help]) => `  ${written.padEnd(width)}  ${help}`));
  return `${lines.join('\n')}\n`;
}
