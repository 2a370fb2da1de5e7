import { AuditUnwritable } from '../audit/audit.ts';
import { StartHeld } from '../hosts/host.ts';
import { SshFailed } from '../hosts/ssh-failed.ts';
import { RecordStuck } from '../records/store.ts';
import type { CommandResult, Failure } from '../roll/commands.ts';
import type { ReapResult } from '../roll/schema.ts';
import { WriteFailed } from '../util/atomic-write.ts';
import { messageOf } from '../util/errors.ts';

/** An act that was not done; carries what the person is told. */
export class ActFailed extends Error {
  override readonly name = 'ActFailed';
  readonly failure: Failure;
  constructor(code: string, message: string, remedy: string, detail: string | null = null) {
    super(message);
    this.failure = { code, message, remedy, detail };
  }
}

export function failed(failure: Failure, results: ReapResult[] = []): CommandResult {
  return { ok: false, failure, results };
}

export function done(message: string, results: ReapResult[] = []): CommandResult {
  return { ok: true, message, server: null, results };
}

/** What the person is told of an error that nobody foresaw: the cause, and where to look. */
export function failureOf(error: unknown): Failure {
  if (error instanceof ActFailed) return error.failure;
  const message = messageOf(error);
  if (error instanceof SshFailed) return { code: error.code, message, remedy: error.remedy, detail: error.output };
  if (error instanceof StartHeld) return { code: 'start-held', message, remedy: '', detail: null };
  if (error instanceof WriteFailed || error instanceof RecordStuck || error instanceof AuditUnwritable) {
    return { code: 'not-written', message, remedy: '', detail: null };
  }
  return {
    code: 'unexpected',
    message: `That could not be done: ${message}`,
    remedy: 'Look again and try once more; the timeline shows what was done until then.',
    detail: error instanceof Error ? (error.stack ?? null) : null,
  };
}
