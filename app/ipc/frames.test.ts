import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Frame, FrameReader, MalformedFrame } from './frames.ts';

const LIMIT = 64;

/** Feeds the bytes in pieces of the given sizes, over and over. */
function readAll(bytes: Buffer, sizes: readonly number[], limit = LIMIT): Frame[] {
  const reader = new FrameReader(limit);
  const frames: Frame[] = [];
  let from = 0;
  for (let turn = 0; from < bytes.length; turn += 1) {
    const size = Math.max(1, sizes[turn % Math.max(1, sizes.length)] ?? 1);
    frames.push(...reader.read(bytes.subarray(from, from + size)));
    from += size;
  }
  return frames;
}

const values = (frames: readonly Frame[]): unknown[] => frames.flatMap((frame) => (frame.ok ? [frame.value] : []));
const refusals = (frames: readonly Frame[]): number => frames.filter(({ ok }) => !ok).length;

describe('reading on after a bad line', () => {
  test('a line that is too long is told once, as soon as it is, and the next line is read', () => {
    const reader = new FrameReader(LIMIT);
    expect(refusals([...reader.read(Buffer.alloc(LIMIT + 1, 0x61))])).toBe(1);
    expect([...reader.read(Buffer.alloc(10_000, 0x61))]).toEqual([]);
    expect([...reader.read(Buffer.from('still it\n{"a":1}\n'))]).toEqual([{ ok: true, value: { a: 1 } }]);
  });

  test('one that ends in the same chunk is passed over to its end', () => {
    const bytes = Buffer.from(`${'x'.repeat(LIMIT + 5)}\n{"a":1}\nnonsense\n{"a":2}\n`);
    const frames = readAll(bytes, [bytes.length]);
    expect(values(frames)).toEqual([{ a: 1 }, { a: 2 }]);
    expect(refusals(frames)).toBe(2);
  });

  test('a line of exactly the limit is read', () => {
    const text = JSON.stringify('x'.repeat(LIMIT - 2));
    expect(values(readAll(Buffer.from(`${text}\n`), [7]))).toEqual(['x'.repeat(LIMIT - 2)]);
  });

  test('whatever comes, in whatever pieces, every good line is read and every bad one is told once', () => {
    const good = fc.integer().map((value) => ({ text: JSON.stringify({ value }), value: { value } as unknown }));
    const bad = fc.oneof(
      fc.string({ minLength: 1, maxLength: 20 }).map((text) => `{${text.replaceAll(/[\n"}]/gu, '')}`),
      fc.integer({ min: LIMIT + 1, max: 3 * LIMIT }).map((length) => 'x'.repeat(length)),
    );
    const lines = fc.array(
      fc.oneof(
        good,
        bad.map((text) => ({ text, value: undefined as unknown })),
      ),
    );
    fc.assert(
      fc.property(lines, fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1 }), (all, sizes) => {
        const bytes = Buffer.from(all.map(({ text }) => `${text}\n`).join(''));
        const frames = readAll(bytes, sizes);
        expect(values(frames)).toEqual(all.flatMap(({ value }) => (value === undefined ? [] : [value])));
        expect(refusals(frames)).toBe(all.filter(({ value }) => value === undefined).length);
      }),
    );
  });

  test('arbitrary bytes neither throw nor are lost sight of', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), fc.integer({ min: 1, max: 50 }), (bytes, size) => {
        const frames = readAll(Buffer.concat([bytes, Buffer.from('\n"end"\n')]), [size]);
        expect(values(frames).at(-1)).toBe('end');
      }),
    );
  });

  test('push throws at the first bad line', () => {
    const reader = new FrameReader(LIMIT);
    const read = reader.push(Buffer.from('1\nno\n2\n'));
    expect(read.next().value).toBe(1);
    expect(() => read.next()).toThrow(MalformedFrame);
  });
});
