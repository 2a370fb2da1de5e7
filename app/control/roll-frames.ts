import type { Roll } from '../roll/schema.ts';
import type { Core } from '../supervisor/core.ts';
import { ANSWER_LIMIT } from './protocol.ts';

/**
 * The latest roll as JSON bytes, made once per roll and shared by every connection, so that many slow readers cost
 * one copy and not one each.
 */
export class RollFrames {
  readonly #core: Core;
  #of: Roll | null = null;
  #json: Buffer | null = null;

  constructor(core: Core) {
    this.#core = core;
  }

  /** Null when the roll is too large for a message. */
  json(): Buffer | null {
    const roll = this.#core.roll;
    if (roll !== this.#of) {
      this.#of = roll;
      const json = Buffer.from(JSON.stringify(roll), 'utf8');
      this.#json = json.length > ANSWER_LIMIT - 1000 ? null : json;
    }
    return this.#json;
  }
}
