/** From what ssh said at its end to one failure that a person understands. */
import { SshFailed, type SshStep } from '../../ssh-failed.ts';
import type { SshLog, SshLogFacts } from './ssh-log.ts';

/** Failures that another attempt cannot mend, besides whole steps. */
const PERMANENT_STEPS: readonly SshStep[] = ['alias', 'resolve', 'host-key', 'authentication'];
const PERMANENT_CODES: readonly string[] = ['no-common-algorithms'];
const TEMPORARY_CODES: readonly string[] = ['closed-during-login', 'deadline'];

/** Whether trying again by ourselves makes no sense: a person has to do something first. */
export function isPermanent({ step, code }: SshFailed): boolean {
  if (TEMPORARY_CODES.includes(code)) return false;
  return PERMANENT_STEPS.includes(step) || PERMANENT_CODES.includes(code);
}

interface Said {
  readonly alias: string;
  readonly text: string;
  readonly told: SshLogFacts;
}

interface Explained {
  readonly step: SshStep;
  readonly code: string;
  readonly message: string;
  readonly remedy: string;
}

type Rule = (said: Said) => Explained | null;

/** Why a master could not connect or ended. `endedBy` is the signal that ended it. */
export function explainEnd(alias: string, log: SshLog, endedBy: string | null = null): SshFailed {
  const said: Said = { alias, text: log.text, told: log.told };
  for (const rule of RULES) {
    const explained = rule(said);
    if (explained !== null) return failure(alias, explained, log);
  }
  const how = endedBy === null ? 'ended' : `was ended by ${endedBy}`;
  return failure(
    alias,
    {
      step: log.told.authenticated ? 'link' : log.step,
      code: 'ended',
      message: `The ssh that led to ${alias} ${how}.`,
      remedy: 'What ssh said is shown below. Try again.',
    },
    log,
  );
}

/** What it means that a connection was closed from the other side as soon as it stood. */
export function explainClosedAtOnce(alias: string, why: SshFailed): SshFailed {
  if (why.code !== 'closed') return why;
  return new SshFailed(
    alias,
    'shell',
    'closed-at-once',
    `${alias} let us in and closed the connection at once.`,
    'The account may not be meant for logins, or a limit of sessions or memory ends them there: ask whoever runs it.',
    why.output,
    why,
  );
}

/** The whole attempt took too long. */
export function explainDeadline(alias: string, log: SshLog, budgetMs: number): SshFailed {
  const { address } = log.told;
  const where =
    log.step === 'name' ? 'looking up its name' : log.step === 'port' ? `waiting for ${address}` : 'logging in';
  return failure(
    alias,
    {
      step: log.step,
      code: 'deadline',
      message: `${alias} was not connected within ${Math.round(budgetMs / 1000)} s; ssh was still ${where}.`,
      remedy: 'Check that the machine is reachable from here, then try again.',
    },
    log,
  );
}

function failure(alias: string, { step, code, message, remedy }: Explained, log: SshLog): SshFailed {
  return new SshFailed(alias, step, code, message, remedy, log.text || null);
}

function fingerprintOf({ keyType, fingerprint }: SshLogFacts): string {
  return fingerprint === null ? 'which ssh did not tell' : `${keyType ?? ''} ${fingerprint}`.trim();
}

const changedKey: Rule = ({ alias, text, told }) => {
  if (!/REMOTE HOST IDENTIFICATION HAS CHANGED|DNS SPOOFING/u.test(text)) return null;
  const place = /^Offending .*key(?: for IP)? in (?<file>.+):(?<line>\d+)$/mu.exec(text)?.groups;
  const other = place === undefined ? '' : ` Line ${place['line']} of ${place['file']} names another key.`;
  const remove = /^\s*(?<command>ssh-keygen -f .+)$/mu.exec(text)?.groups?.['command']?.trim();
  return {
    step: 'host-key',
    code: 'changed-host-key',
    message:
      `The host key of ${alias} HAS CHANGED, so this may be another machine that poses as it. ` +
      `It shows ${fingerprintOf(told)}.${other}`,
    remedy:
      'Ask whoever runs the machine whether its key was changed. Only if it was, remove the old one' +
      `${remove === undefined ? '' : ` (${remove})`} and connect again.`,
  };
};

const revokedKey: Rule = ({ alias, text, told }) =>
  /REVOKED HOST KEY|host key .* is revoked/iu.test(text)
    ? {
        step: 'host-key',
        code: 'revoked-host-key',
        message: `The host key that ${alias} shows has been revoked: ${fingerprintOf(told)}.`,
        remedy: 'Do not connect. Ask whoever runs the machine.',
      }
    : null;

const unknownKey: Rule = ({ alias, text, told }) =>
  /Host key verification failed/u.test(text)
    ? {
        step: 'host-key',
        code: 'unknown-host-key',
        message: `The host key of ${alias} is not known on this machine: ${fingerprintOf(told)}. Nothing was accepted.`,
        remedy: 'Compare the fingerprint with that of the machine, then connect and confirm it.',
      }
    : null;

const denied: Rule = ({ alias, text, told }) => {
  const allowed = /^(?<who>\S+): Permission denied \((?<methods>[^)]*)\)/mu.exec(text)?.groups;
  if (allowed === undefined) return null;
  const [locked] = told.acceptedKeys.slice(-1);
  const agent = told.agentGone ? ' The ssh agent that SSH_AUTH_SOCK names does not answer.' : '';
  if (locked !== undefined) {
    return {
      step: 'authentication',
      code: 'key-locked',
      message: `${alias} would accept the key ${locked}, but it is locked by a passphrase and no agent holds it.${agent}`,
      remedy: `Connect and enter the passphrase, or run: ssh-add ${locked}`,
    };
  }
  const unusable = /^Load key "?(?<file>.+?)"?: (?<why>.+)$/mu.exec(text)?.groups;
  const tried = told.tried.length === 0 ? 'none was tried' : `tried: ${told.tried.join(', ')}`;
  const key = unusable === undefined ? '' : ` The key ${unusable['file']} could not be used: ${unusable['why']}.`;
  return {
    step: 'authentication',
    code: 'permission-denied',
    message: `${alias} did not let ${allowed['who']} in. It takes ${allowed['methods']}; ${tried}.${key}${agent}`,
    remedy: 'Check the user name and the key, or connect and enter the password.',
  };
};

const tooMany: Rule = ({ alias, text }) =>
  /Too many authentication failures/u.test(text)
    ? {
        step: 'authentication',
        code: 'too-many-keys',
        message: `${alias} closed the connection after too many attempts to log in.`,
        remedy: 'Name the right key in your SSH configuration (IdentityFile with IdentitiesOnly yes).',
      }
    : null;

const name: Rule = ({ alias, text }) => {
  const found = /Could not resolve hostname (?<host>\S+): (?<why>.+)$/mu.exec(text)?.groups;
  if (found === undefined) return null;
  return {
    step: 'name',
    code: 'name-not-found',
    message: `The name ${found['host']?.toLowerCase()} that ${alias} leads to was not found: ${found['why']}.`,
    remedy: 'Check the name in your SSH configuration, and that the network is up.',
  };
};

const CONNECT_CODES: readonly (readonly [RegExp, string, string])[] = [
  [/refused/iu, 'refused', 'refused the connection: no SSH server listens there'],
  [/timed out/iu, 'timed-out', 'did not answer'],
  [/No route/iu, 'no-route', 'cannot be reached from here: there is no route to it'],
  [/unreachable/iu, 'no-network', 'cannot be reached: the network is unreachable'],
];

const port: Rule = ({ alias, text }) => {
  const found = /connect to (?:host )?(?:address )?(?<host>\S+) port (?<port>\d+): (?<why>.+)$/mu.exec(text)?.groups;
  if (found === undefined) return null;
  const why = found['why'] ?? '';
  const [, code, words] = CONNECT_CODES.find(([pattern]) => pattern.test(why)) ?? [/./u, 'connect-failed', why];
  return {
    step: 'port',
    code,
    message: `${found['host']} port ${found['port']}, where ${alias} leads, ${words}.`,
    remedy: 'Check that the machine is up and reachable from here, and the port in your SSH configuration.',
  };
};

const algorithms: Rule = ({ alias, text }) => {
  const why = /Unable to negotiate with [^:]+: (?<why>.+)$/mu.exec(text)?.groups?.['why'];
  if (why === undefined) return null;
  return {
    step: 'port',
    code: 'no-common-algorithms',
    message: `ssh and ${alias} have no way to talk in common: ${why.replace(/\. Their offer:.*$/u, '')}.`,
    remedy: 'Update the SSH server there, or allow the algorithm in your SSH configuration.',
  };
};

const jump: Rule = ({ alias, text }) =>
  /stdio forwarding failed/u.test(text)
    ? {
        step: 'port',
        code: 'jump-failed',
        message: `The machine on the way to ${alias} could not reach it.`,
        remedy: 'Check that the machine is up, and that the one on the way may forward connections.',
      }
    : null;

const silent: Rule = ({ alias, text, told }) =>
  /timed out during banner exchange|Timeout, server .* not responding|Connection to .* timed out/u.test(text)
    ? {
        step: told.authenticated ? 'link' : 'port',
        code: 'timed-out',
        message: told.authenticated
          ? `${alias} stopped answering, so the connection was given up.`
          : `${alias} took the connection and did not answer.`,
        remedy: 'Check that the machine is reachable from here.',
      }
    : null;

const configuration: Rule = ({ alias, text }) =>
  /Bad configuration option|bad configuration options|Bad owner or permissions|keyword .* extra arguments/u.test(text)
    ? {
        step: 'resolve',
        code: 'bad-configuration',
        message: `ssh could not read the configuration for ${alias}.`,
        remedy: 'Mend the line that ssh names, then try again.',
      }
    : null;

const closed: Rule = ({ alias, text, told }) => {
  const gone =
    /Connection (?:to \S+ )?(?:closed|reset)|kex_exchange_identification|Broken pipe|Connection aborted|client_loop: send disconnect|Received disconnect|Disconnected from/u;
  if (!gone.test(text)) return null;
  if (told.authenticated) {
    return {
      step: 'link',
      code: 'closed',
      message: `The connection to ${alias} was closed from the other side.`,
      remedy: 'The machine may have been restarted, or the account’s sessions were ended there.',
    };
  }
  return told.tried.length > 0
    ? {
        step: 'authentication',
        code: 'closed-during-login',
        message: `${alias} closed the connection during the login.`,
        remedy: 'Look at the log of the SSH server there, or try again.',
      }
    : {
        step: 'port',
        code: 'closed-early',
        message: `${alias} closed the connection before any login.`,
        remedy: 'It may have too many connections, or block this address. Try again in a while.',
      };
};

/** The first that knows the output decides: what is told loudest and is most certain comes first. */
const RULES: readonly Rule[] = [
  changedKey,
  revokedKey,
  unknownKey,
  tooMany,
  denied,
  name,
  port,
  algorithms,
  jump,
  silent,
  configuration,
  closed,
];
