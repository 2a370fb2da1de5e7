import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { picturesToMake, sourceHash } from './render-icons.mjs';

const pictures = path.join(import.meta.dirname, 'icons', 'png');

test('the pictures are those of the drawings; if not, run node build/render-icons.mjs', async () => {
  const toMake = await picturesToMake();
  expect(readFileSync(path.join(pictures, 'source.sha256'), 'utf8').trim()).toBe(sourceHash(toMake));
  const names = readdirSync(pictures).filter((name) => name.endsWith('.png'));
  expect(names.sort()).toEqual(toMake.map(({ file }: { file: string }) => file).sort());
  for (const { file, size } of toMake) {
    const png = readFileSync(path.join(pictures, file));
    // PNG: 8 bytes of signature, then IHDR with width and height (RFC 2083, 4.1.1).
    expect([file, png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([file, size, size]);
  }
});
