/** A peer sent what is no message; the connection cannot be trusted to be in step any more. */
export class MalformedFrame extends Error {
  override readonly name = 'MalformedFrame';
}

const NEWLINE = 0x0a;
const FIRST_CAPACITY = 4096;

/** One line of a peer: its value, or why it is no message. Nothing of what was refused is kept. */
export type Frame =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: MalformedFrame };

/**
 * Cuts a byte stream into lines of JSON, never keeping more than one line of at most `limit` bytes. What it keeps
 * is copied into one buffer that doubles, so that a peer that sends single bytes costs no more than one that does not.
 */
export class FrameReader {
  readonly #limit: number;
  #kept: Buffer = Buffer.alloc(0);
  #length = 0;
  /** The line that is being read was too long; the rest of it is passed over. */
  #skipping = false;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });

  /** @param limit longest line in bytes, without its newline */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Takes in a chunk and yields the value of every line it completes, in order.
   *
   * @throws MalformedFrame for a line that is too long, is no UTF-8 or is no JSON; what follows it in the chunk is lost
   */
  *push(chunk: Buffer): Generator<unknown, void, undefined> {
    for (const frame of this.read(chunk)) {
      if (!frame.ok) throw frame.error;
      yield frame.value;
    }
  }

  /**
   * Takes in a chunk and yields every line it completes, the bad ones as refusals, each told once: for a channel that
   * must outlive a bad line. A line that is too long is told as soon as it is, and passed over to its end. The chunk
   * is taken in only as far as the result is read.
   */
  *read(chunk: Buffer): Generator<Frame, void, undefined> {
    let from = 0;
    while (from < chunk.length) {
      const end = chunk.indexOf(NEWLINE, from);
      if (!this.#skipping && !this.#keep(chunk.subarray(from, end === -1 ? chunk.length : end))) {
        this.#skipping = true;
        yield refused(`a message is longer than ${this.#limit} bytes`);
      }
      if (end === -1) return;
      from = end + 1;
      if (this.#skipping) this.#skipping = false;
      else yield this.#take();
    }
  }

  /** False when the line is too long; nothing of it is kept then. */
  #keep(part: Buffer): boolean {
    const length = this.#length + part.length;
    if (length > this.#limit) {
      this.#forget();
      return false;
    }
    if (length > this.#kept.length) {
      const grown = Buffer.allocUnsafe(Math.min(this.#limit, Math.max(FIRST_CAPACITY, length, this.#kept.length * 2)));
      this.#kept.copy(grown, 0, 0, this.#length);
      this.#kept = grown;
    }
    part.copy(this.#kept, this.#length);
    this.#length = length;
    return true;
  }

  #take(): Frame {
    const line = this.#kept.subarray(0, this.#length);
    try {
      return { ok: true, value: JSON.parse(this.#decoder.decode(line)) };
    } catch {
      // The text of the parser's error quotes the peer's bytes, which may be anything.
      return refused('a message is not one line of JSON');
    } finally {
      this.#forget();
    }
  }

  #forget(): void {
    this.#length = 0;
    // A single long message must not cost its size for as long as the connection lives.
    if (this.#kept.length > 65_536) this.#kept = Buffer.alloc(0);
  }
}

function refused(why: string): Frame {
  return { ok: false, error: new MalformedFrame(why) };
}
