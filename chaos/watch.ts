/** What must hold at every moment. What does not is kept as a violation, with all that is known of it. */
import { join } from 'node:path';
import type { AuditLine } from '../app/audit/audit.ts';
import { AuditWatch } from './audit-watch.ts';
import type { Harm } from './harm.ts';
import type { Being, ChaosLedger, Role } from './ledger.ts';
import { RecordWatch } from './record-watch.ts';
import type { Stage } from './stage.ts';
import type { Strangers } from './strangers.ts';
import { readTrace } from './trace.ts';

export interface Violation {
  readonly what: string;
  readonly detail: string;
  /** ISO time. */
  readonly at: string;
}

/** Nobody may signal these, whatever their PID meant before. */
const UNTOUCHABLE: ReadonlySet<Role> = new Set(['stranger', 'owner', 'harness', 'owned']);
/** Events that tell why a record is not needed any more. */
const TOLD: ReadonlySet<string> = new Set([
  'stopped',
  'reaped',
  'exited',
  'set-aside',
  'start-failed',
  'stop-failed',
  'reap-failed',
]);
/** Lines of the audit that may be written between a record's last sight and its end. */
const SAME_MOMENT = 4;
/** A file system that was full, or a killed writer, may have cut a line. */
const CUT_BY = new Set(['full']);

export class Watch {
  readonly audit: AuditWatch;
  readonly records: RecordWatch;
  readonly violations: Violation[] = [];
  readonly #ledger: ChaosLedger;
  readonly #strangers: Strangers;
  readonly #stage: Stage;
  readonly #harm: Harm;
  #badSeen = 0;
  #vanishedSeen = 0;
  readonly #untouchedGone = new Set<Being>();
  /** Signals by kind, as the audit announces them. */
  readonly intents = new Map<string, number>();
  readonly events = new Map<string, number>();
  readonly sameTick = new Set<string>();
  /** Equal PID and ticks for a stranger and somebody before it: only the stranger itself can tell then. */
  ambiguous = 0;

  constructor(parts: { ledger: ChaosLedger; strangers: Strangers; stage: Stage; harm: Harm }) {
    this.#ledger = parts.ledger;
    this.#strangers = parts.strangers;
    this.#stage = parts.stage;
    this.#harm = parts.harm;
    this.audit = new AuditWatch(parts.stage.paths.auditFile);
    this.records = new RecordWatch(parts.stage.paths.recordsDir);
  }

  violated(what: string, detail: string): void {
    this.violations.push({ what, detail, at: new Date().toISOString() });
  }

  poll(): void {
    this.#ledger.scan();
    this.records.poll(this.audit.lines.length);
    this.#countEqualTicks();
    for (const { being, what } of this.#strangers.felt()) {
      this.violated('a stranger was signalled', `${being.role} ${being.pid} (${being.label}) felt ${what}`);
    }
    for (const line of this.audit.poll()) this.#judge(line);
    for (const { text, at } of this.audit.bad.slice(this.#badSeen)) {
      const excused = this.#harm.spells.some(({ plague, to }) => CUT_BY.has(plague) && (to ?? at) + 5 > at);
      if (!excused) this.violated('a line of the audit cannot be read', text.slice(0, 500));
    }
    this.#badSeen = this.audit.bad.length;
    if (this.#strangers.problem !== null) this.violated('the run itself failed', this.#strangers.problem);
  }

  /** Strangers that cannot be told from a recorded process by PID and start: only the kernel's pidfd ids differ. */
  #countEqualTicks(): void {
    for (const { record } of this.records.read()) {
      for (const ref of [record?.spawned, record?.server]) {
        if (ref == null) continue;
        const { pid, startTime } = ref.identity;
        const being = this.#ledger.who(pid, startTime.replace(/^linux:/u, ''));
        if (being?.role === 'stranger') this.sameTick.add(`${pid}:${startTime}`);
      }
    }
  }

  /** What only the end can tell. */
  conclude(): void {
    this.poll();
    this.#judgeVanished();
    for (const file of this.#stage.traces) this.#judgeTrace(file);
  }

  #judge(line: AuditLine): void {
    this.events.set(line.event, (this.events.get(line.event) ?? 0) + 1);
    if (line.event !== 'signal-intent') return;
    const kind = line.signal ?? 'none';
    this.intents.set(kind, (this.intents.get(kind) ?? 0) + 1);
    const { identity } = line;
    if (identity === null) {
      this.violated('a signal without an identity was announced', JSON.stringify(line));
      return;
    }
    const being = this.#ledger.who(identity.pid, identity.startTime.replace(/^linux:/u, ''));
    if (being === null || !UNTOUCHABLE.has(being.role)) return;
    // Within one tick a PID can have meant two processes; the kernel's handle says which one was meant here.
    const { pidfdId } = identity;
    if (being.handle !== null && pidfdId !== undefined && pidfdId !== being.handle) return;
    this.violated(
      'a signal to a stranger was announced',
      `${being.role} ${being.pid} (${being.label}): ${JSON.stringify(line)}`,
    );
  }

  /** A record that went away must have been told of since it was last seen. */
  #judgeVanished(): void {
    for (const { record, at, auditBefore } of this.records.vanished.slice(this.#vanishedSeen)) {
      if (this.#harm.wounded.has(record.nonce)) continue;
      if (this.#harm.spells.some(({ from, to }) => from - 2 < at && at < (to ?? at) + 2)) continue;
      const own = new Set([record.server?.identity.pid, record.spawned?.identity.pid]);
      const about = ({ pid, text }: AuditLine): boolean =>
        text.includes(record.nonce) || (pid !== null && own.has(pid));
      const near = this.audit.lines.slice(Math.max(0, auditBefore - SAME_MOMENT));
      const said =
        this.audit.lines.some((line) => TOLD.has(line.event) && about(line)) ||
        near.some(({ event, pid, text }) => TOLD.has(event) && (pid === null || text.includes(record.directory)));
      if (!said) this.violated('a record went away without a word', JSON.stringify(record));
    }
    this.#vanishedSeen = this.records.vanished.length;
  }

  #judgeTrace(file: string): void {
    for (const sent of readTrace(file)) {
      const who = sent.pid === null ? [] : this.#ledger.at(Math.abs(sent.pid), sent.at);
      const hit = who.find(({ role }) => UNTOUCHABLE.has(role));
      const self = who.some(({ pid }) => pid === sent.by);
      if (hit === undefined || self || !sent.ok) continue;
      // A PID that changed hands between two looks belongs to two in the ledger: the stranger's own word decides then.
      if (who.some(({ role }) => !UNTOUCHABLE.has(role))) {
        this.ambiguous += 1;
        continue;
      }
      const from = join(this.#stage.root, file);
      this.violated(
        'a stranger was signalled, as the system saw it',
        `${hit.role} ${hit.pid} (${hit.label}): ${JSON.stringify(sent)} in ${from}`,
      );
    }
  }

  /** Servers under a living launcher that are gone. Their launchers are this run's own and stay. */
  judgeOwned(owned: readonly Being[]): void {
    const living = new Set(this.#ledger.living('owned'));
    for (const being of owned) {
      if (being.role !== 'owned' || being.retired || living.has(being) || this.#untouchedGone.has(being)) continue;
      this.#untouchedGone.add(being);
      this.violated('an owned server was ended', `${being.pid} (${being.label})`);
    }
  }
}
