import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE_BYTES = 8;

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

/** Undoes the filters of PNG (specification, section 9); each row keeps its leading filter byte, then 0. */
function unfiltered(rows: Buffer, width: number, bytesPerPixel: number): Buffer {
  const stride = width * bytesPerPixel + 1;
  const at = (index: number): number => rows[index] ?? 0;
  for (let row = 0; row * stride < rows.length; row += 1) {
    const filter = at(row * stride);
    for (let x = 1; x < stride; x += 1) {
      const here = row * stride + x;
      const left = x > bytesPerPixel ? at(here - bytesPerPixel) : 0;
      const up = row > 0 ? at(here - stride) : 0;
      const corner = row > 0 && x > bytesPerPixel ? at(here - stride - bytesPerPixel) : 0;
      const paeth = [left, up, corner].reduce((best, one) =>
        Math.abs(left + up - corner - one) < Math.abs(left + up - corner - best) ? one : best,
      );
      const guess = [0, left, up, (left + up) >> 1, paeth][filter] ?? 0;
      rows[here] = (at(here) + guess) & 255;
    }
    rows[row * stride] = 0;
  }
  return rows;
}

/** The same picture without row filters, packed tightly: Chromium packs for speed, and flat areas need no filter. */
export function repacked(png: Buffer): Buffer {
  const width = png.readUInt32BE(16);
  const bytesPerPixel = png[25] === 6 ? 4 : 3;
  const out = [png.subarray(0, SIGNATURE_BYTES)];
  const packed: Buffer[] = [];
  for (let at = SIGNATURE_BYTES; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const type = png.toString('latin1', at + 4, at + 8);
    const data = png.subarray(at + 8, at + 8 + length);
    if (type === 'IDAT') packed.push(data);
    else {
      if (type === 'IEND') {
        const rows = unfiltered(inflateSync(Buffer.concat(packed)), width, bytesPerPixel);
        out.push(chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })));
      }
      out.push(chunk(type, data));
    }
    at += length + 12;
  }
  return Buffer.concat(out);
}
