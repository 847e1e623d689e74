/** Pictures whose pixels are known, and files of them that no decoder had a part in. */
import { crc32, deflateSync } from "node:zlib";

export interface Picture {
  /** Red, green and blue of each pixel in turn. */
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** Every pixel another one, smooth enough for JPEG. */
export function gradient(width: number, height: number): Picture {
  const data = new Uint8Array(width * height * 3);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      data[at++] = (x * 255) / width;
      data[at++] = (y * 255) / height;
      data[at++] = 255 - ((x + y) * 255) / (width + height);
    }
  }
  return { data, width, height };
}

/** A PNG without a filter. @param alpha of every pixel; left out, there is none. */
export function pngOf({ data, width, height }: Picture, alpha?: number): Uint8Array {
  const channels = alpha === undefined ? 3 : 4;
  const lines = Buffer.alloc(height * (1 + width * channels));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const from = (y * width + x) * 3;
      const to = y * (1 + width * channels) + 1 + x * channels;
      lines.set(data.subarray(from, from + 3), to);
      if (alpha !== undefined) lines[to + 3] = alpha;
    }
  }
  return pngFile(width, height, 8, alpha === undefined ? 2 : 6, lines);
}

/** @param depth bits of a value. @param colour type, as PNG numbers them. @param lines filtered. */
export function pngFile(
  width: number,
  height: number,
  depth: number,
  colour: number,
  lines: Uint8Array,
): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([depth, colour], 8);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(lines)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** A JPEG file with an orientation in EXIF, put behind its first marker. */
export function withOrientation(jpeg: Uint8Array, orientation: number): Uint8Array {
  const tiff = Buffer.from("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01", "latin1");
  const value = Buffer.from([0, orientation, 0, 0, 0, 0, 0, 0]);
  const body = Buffer.concat([Buffer.from("Exif\0\0", "latin1"), tiff, value]);
  const marker = Buffer.from([0xff, 0xe1, 0, body.length + 2]);
  return Buffer.concat([jpeg.subarray(0, 2), marker, body, jpeg.subarray(2)]);
}
