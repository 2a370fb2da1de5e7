// Makes this process's wall clock jump by what a file says, in milliseconds: no namespace has a wall clock of its own.
// The monotonic clock and the kernel's own times are untouched, as they are by a jump of the real one.
import { readFileSync } from 'node:fs';
import process from 'node:process';

const file = process.env.CHAOS_CLOCK;
const RealDate = Date;
let offset = 0;

function read() {
  try {
    offset = Number(readFileSync(file, 'utf8')) || 0;
  } catch {
    offset = 0;
  }
}

if (file !== undefined) {
  read();
  setInterval(read, 200).unref();
  globalThis.Date = class extends RealDate {
    constructor(...words) {
      if (words.length === 0) super(RealDate.now() + offset);
      else super(...words);
    }
    static now() {
      return RealDate.now() + offset;
    }
  };
}
