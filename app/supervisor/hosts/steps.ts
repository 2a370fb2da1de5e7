/** The steps of connecting, as far as an attempt has come. */
import type { ConnectionState } from '../../hosts/ssh/connection/connection-state.ts';
import { SSH_STEPS, type SshStepEntry } from '../../roll/schema.ts';

type Step = SshStepEntry['step'];

export class Steps {
  readonly #details = new Map<Step, string | null>();
  #at: number | null = null;
  #failed = false;

  get list(): SshStepEntry[] {
    return SSH_STEPS.map((step, index) => ({
      step,
      state:
        this.#at === null || index > this.#at
          ? 'waiting'
          : index < this.#at
            ? 'done'
            : this.#failed
              ? 'failed'
              : 'running',
      detail: this.#details.get(step) ?? null,
    }));
  }

  /** A new attempt. */
  begin(): void {
    this.#details.clear();
    this.#failed = false;
    this.#at = 0;
  }

  /** This step is under way; those before it are done. A jump host's own connection goes back to an earlier one. */
  reach(step: Step, detail: string | null): void {
    this.#at = SSH_STEPS.indexOf(step);
    if (detail !== null) this.#details.set(step, detail);
  }

  /** It has failed at this step, or at the one it was at. */
  fail(step: string, detail: string): void {
    const index = SSH_STEPS.indexOf(step as Step);
    if (index >= 0) this.#at = index;
    this.#at ??= 0;
    this.#failed = true;
    const at = SSH_STEPS[this.#at];
    if (at !== undefined) this.#details.set(at, detail);
  }

  /** All of it is done. */
  complete(detail: string | null): void {
    this.#at = SSH_STEPS.length;
    if (detail !== null) this.#details.set('forward', detail);
  }

  clear(): void {
    this.#details.clear();
    this.#at = null;
    this.#failed = false;
  }

  /** Follows what the transport tells. */
  follow(state: ConnectionState): void {
    if (state.status === 'authenticating') {
      const step = state.question.type === 'host-key' ? 'host-key' : 'authentication';
      this.reach(step, 'Waits for your answer');
    }
    if (state.status !== 'connecting') return;
    if (state.step === 'name' && this.#at !== 1) {
      this.begin();
      this.reach('name', state.text);
    } else {
      const step = SSH_STEPS.find((each) => each === state.step);
      if (step !== undefined) this.reach(step, state.text);
    }
  }
}
