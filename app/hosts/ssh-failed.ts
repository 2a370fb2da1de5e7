/** The step of connecting or of using a connection that failed; the word is stable. */
export type SshStep =
  | 'alias'
  | 'resolve'
  | 'name'
  | 'port'
  | 'host-key'
  | 'authentication'
  | 'shell'
  | 'probe'
  | 'forward'
  | 'link';

/** Something on the way to a host, or over it, failed. The message is one sentence, the remedy another. */
export class SshFailed extends Error {
  override readonly name = 'SshFailed';
  readonly alias: string;
  readonly step: SshStep;
  /** Stable and greppable: "unknown-host-key", "changed-host-key", "permission-denied", "deadline". */
  readonly code: string;
  readonly remedy: string;
  /** What ssh or the remote said, bounded and without secrets; null when nothing was said. */
  readonly output: string | null;
  constructor(
    alias: string,
    step: SshStep,
    code: string,
    message: string,
    remedy: string,
    output: string | null = null,
    cause?: unknown,
  ) {
    super(message, { cause });
    this.alias = alias;
    this.step = step;
    this.code = code;
    this.remedy = remedy;
    this.output = output;
  }
}
