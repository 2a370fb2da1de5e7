/** A peer sent what is no message; the connection cannot be trusted to be in step any more. */
export class MalformedFrame extends Error {
  override readonly name = 'MalformedFrame';
}

const NEWLINE = 0x0a;
const FIRST_CAPACITY = 4096;

/**
 * Cuts a byte stream into lines of JSON, never keeping more than one line of at most `limit` bytes. What it keeps
 * is copied into one buffer that doubles, so that a peer that sends single bytes costs no more than one that does not.
 */
export class FrameReader {
  readonly #limit: number;
  #kept: Buffer = Buffer.alloc(0);
  #length = 0;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });

  /** @param limit longest line in bytes, without its newline */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Takes in a chunk and yields the value of every line it completes, in order.
   *
   * @throws MalformedFrame for a line that is too long, is no UTF-8 or is no JSON; the reader is then useless
   */
  *push(chunk: Buffer): Generator<unknown, void, undefined> {
    let from = 0;
    while (from < chunk.length) {
      const end = chunk.indexOf(NEWLINE, from);
      this.#keep(chunk.subarray(from, end === -1 ? chunk.length : end));
      if (end === -1) return;
      from = end + 1;
      yield this.#take();
    }
  }

  #keep(part: Buffer): void {
    const length = this.#length + part.length;
    if (length > this.#limit) {
      this.#forget();
      throw new MalformedFrame(`a message is longer than ${this.#limit} bytes`);
    }
    if (length > this.#kept.length) {
      const grown = Buffer.allocUnsafe(Math.min(this.#limit, Math.max(FIRST_CAPACITY, length, this.#kept.length * 2)));
      this.#kept.copy(grown, 0, 0, this.#length);
      this.#kept = grown;
    }
    part.copy(this.#kept, this.#length);
    this.#length = length;
  }

  #take(): unknown {
    const line = this.#kept.subarray(0, this.#length);
    try {
      return JSON.parse(this.#decoder.decode(line));
    } catch {
      // The text of the parser's error quotes the peer's bytes, which may be anything.
      throw new MalformedFrame('a message is not one line of JSON');
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
