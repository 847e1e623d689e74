import { inflateSync } from "node:zlib";

/**
 * Counts of the colours of a PNG as chromium writes them (8 bits, RGB or RGBA, not interlaced),
 * keyed "#rrggbb".
 */
export function countColors(png: Buffer): Map<string, number> {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const [depth, colorType] = [png[24], png[25]];
  if (depth !== 8 || (colorType !== 2 && colorType !== 6)) throw new Error("not such a PNG");
  const channels = colorType === 2 ? 3 : 4;
  const rows = inflateSync(pixelChunks(png));
  const stride = width * channels;
  let above = Buffer.alloc(stride);
  const counts = new Map<string, number>();
  for (let row = 0; row < height; row++) {
    const start = row * (stride + 1);
    const line = Buffer.from(rows.subarray(start + 1, start + 1 + stride));
    unfilter(rows[start] ?? 0, line, above, channels);
    for (let pixel = 0; pixel < stride; pixel += channels) {
      const color = `#${line.toString("hex", pixel, pixel + 3)}`;
      counts.set(color, (counts.get(color) ?? 0) + 1);
    }
    above = line;
  }
  return counts;
}

function pixelChunks(png: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let offset = 8; offset < png.length; ) {
    const length = png.readUInt32BE(offset);
    if (png.toString("latin1", offset + 4, offset + 8) === "IDAT") {
      chunks.push(png.subarray(offset + 8, offset + 8 + length));
    }
    offset += length + 12;
  }
  return Buffer.concat(chunks);
}

/** Source: PNG specification, section 9. */
function unfilter(filter: number, line: Buffer, above: Buffer, channels: number): void {
  for (let index = 0; index < line.length; index++) {
    const left = index < channels ? 0 : (line[index - channels] ?? 0);
    const up = above[index] ?? 0;
    const corner = index < channels ? 0 : (above[index - channels] ?? 0);
    const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
    line[index] = ((line[index] ?? 0) + predicted) & 0xff;
  }
}

function paeth(left: number, up: number, corner: number): number {
  const estimate = left + up - corner;
  const distances = [left, up, corner].map((value) => Math.abs(estimate - value));
  const nearest = Math.min(...distances);
  return [left, up, corner][distances.indexOf(nearest)] ?? 0;
}
