/** What a master says of itself (`-v`), read as steps that a person can follow, and kept for when it fails. */
import type { SshStep } from '../../ssh-failed.ts';

export interface Progress {
  readonly step: SshStep;
  /** One line for the person. */
  readonly text: string;
}

const MAX_LINE = 4096;
const MAX_LINES = 80;
const MAX_KEPT = 16_384;
/** Says nothing that helps, many times over. */
const NOISE =
  /^debug\d: (?:Reading configuration|identity file|.*Applying options|pledge:|expecting |SSH2_MSG|ssh_packet_|kex_input_ext_info|rekey|compat_|Will attempt key|client_input_|auto-mux|mux_client|multiplexing control|getsockopt|channel \d+: (?:new|free) |Connection to port)/u;
/** The command may hold a token; who wants it finds it in the configuration. */
const SECRETIVE = /^(?<head>debug\d: (?:Executing proxy command|Setting implicit ProxyCommand|Executing command)).*$/u;

/** Facts that a failure is explained with. */
export interface SshLogFacts {
  /** Where ssh connected to, as it named it. */
  readonly address: string | null;
  readonly fingerprint: string | null;
  /** `ED25519` and the like. */
  readonly keyType: string | null;
  /** Ways to log in that were tried, in order. */
  readonly tried: readonly string[];
  /** Files of keys that the machine would accept. */
  readonly acceptedKeys: readonly string[];
  /** The agent's socket did not answer. */
  readonly agentGone: boolean;
  readonly authenticated: boolean;
}

/** Takes in the output of one master. */
export class SshLog {
  readonly #onProgress: (progress: Progress) => void;
  readonly #lines: string[] = [];
  #kept = 0;
  #partial = '';
  #step: SshStep = 'name';
  #address: string | null = null;
  #fingerprint: string | null = null;
  #keyType: string | null = null;
  #tried: string[] = [];
  #acceptedKeys: string[] = [];
  #agentGone = false;
  #authenticated = false;

  constructor(onProgress: (progress: Progress) => void) {
    this.#onProgress = onProgress;
  }

  /** The step it is at. */
  get step(): SshStep {
    return this.#step;
  }

  get told(): SshLogFacts {
    return {
      address: this.#address,
      fingerprint: this.#fingerprint,
      keyType: this.#keyType,
      tried: this.#tried,
      acceptedKeys: this.#acceptedKeys,
      agentGone: this.#agentGone,
      authenticated: this.#authenticated,
    };
  }

  /** Its end, without what is noise. */
  get text(): string {
    return this.#lines.join('\n');
  }

  /** What was said until now is past: a later end has later reasons. */
  forget(): void {
    this.#lines.length = 0;
    this.#kept = 0;
  }

  push(chunk: string): void {
    const parts = (this.#partial + chunk).split(/\r?\n|\r/u);
    this.#partial = (parts.pop() ?? '').slice(0, MAX_LINE);
    for (const part of parts) this.#line(part.slice(0, MAX_LINE));
  }

  /** Nothing more comes. */
  finish(): void {
    if (this.#partial !== '') this.#line(this.#partial);
    this.#partial = '';
  }

  #line(raw: string): void {
    const line = raw.replace(/[\p{Cc}\u2028\u2029]/gu, ' ').trimEnd();
    if (line === '') return;
    if (!NOISE.test(line)) this.#keep(line.replace(SECRETIVE, '$<head> …'));
    const progress = this.#read(line);
    if (progress === null) return;
    this.#step = progress.step;
    this.#onProgress(progress);
  }

  #keep(line: string): void {
    this.#lines.push(line);
    this.#kept += line.length;
    while (this.#lines.length > MAX_LINES || this.#kept > MAX_KEPT) this.#kept -= this.#lines.shift()?.length ?? 0;
  }

  #read(line: string): Progress | null {
    const connecting = /^debug1: Connecting to (?<host>\S+) (?:\[(?<address>[^\]]+)\] )?port (?<port>\d+)/u.exec(line);
    if (connecting?.groups !== undefined) {
      // A jump's own connection comes first; each begins anew.
      const { host = '', address, port = '' } = connecting.groups;
      this.#address = `${host} port ${port}`;
      this.#fresh();
      const at = address === undefined || address === host ? '' : ` (${address})`;
      return { step: 'port', text: `Connecting to ${host}${at}, port ${port}` };
    }
    if (/^debug1: Remote protocol version/u.test(line)) {
      this.#fresh();
      return { step: 'host-key', text: 'Exchanging keys' };
    }
    const key = /^debug1: Server host key: (?<type>\S+) (?<fingerprint>\S+)/u.exec(line)?.groups;
    if (key !== undefined) {
      this.#fingerprint = key['fingerprint'] ?? null;
      this.#keyType = shortType(key['type'] ?? '');
      return { step: 'host-key', text: `Checking the host key ${this.#keyType} ${this.#fingerprint}` };
    }
    const method = /^debug1: Next authentication method: (?<method>\S+)/u.exec(line)?.groups?.['method'];
    if (method !== undefined) {
      if (!this.#tried.includes(method)) this.#tried.push(method);
      return { step: 'authentication', text: `Logging in with ${method}` };
    }
    const accepted = /^debug1: Server accepts key: (?<file>.+?) (?:[A-Z0-9-]+) SHA256:/u.exec(line)?.groups?.['file'];
    if (accepted !== undefined) this.#acceptedKeys.push(accepted);
    if (/ssh_get_authentication_socket|get_agent_identities: (?:ssh_get|ssh_fetch)/u.test(line)) {
      // "No such file" alone is an agent that was never there.
      this.#agentGone ||= /refused|No such file|Permission/u.test(line);
    }
    if (/^Authenticated to /u.test(line)) {
      this.#authenticated = true;
      return { step: 'link', text: 'Opening the connection for Rollcall' };
    }
    return null;
  }

  #fresh(): void {
    this.#authenticated = false;
    this.#tried = [];
    this.#acceptedKeys = [];
    this.#fingerprint = null;
    this.#keyType = null;
  }
}

function shortType(type: string): string {
  return type
    .replace(/^(?:ssh|ecdsa-sha2|sk-ssh|sk-ecdsa-sha2)-/u, '')
    .replace(/@.*$/u, '')
    .toUpperCase();
}
