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

/** The same picture, packed as tightly as deflate can: Chromium packs for speed. Every pixel stays. */
export function repacked(png: Buffer): Buffer {
  const out = [png.subarray(0, SIGNATURE_BYTES)];
  const packed: Buffer[] = [];
  for (let at = SIGNATURE_BYTES; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const type = png.toString('latin1', at + 4, at + 8);
    const data = png.subarray(at + 8, at + 8 + length);
    if (type === 'IDAT') packed.push(data);
    else {
      if (type === 'IEND')
        out.push(chunk('IDAT', deflateSync(inflateSync(Buffer.concat(packed)), { level: 9, memLevel: 9 })));
      out.push(chunk(type, data));
    }
    at += length + 12;
  }
  return Buffer.concat(out);
}
