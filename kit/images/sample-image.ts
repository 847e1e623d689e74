/** Images as people send them, to profile with: drawn anew each, of a photograph's kind. */
import sharp from "sharp";

/** What phones and scanners send once a client has made it smaller. */
const WIDTH = 1280;
const HEIGHT = 960;
const SHAPES = 12;

/** A JPEG file of 1280 x 960 pixels, some 100 to 200 kB. @param random uniform in [0, 1). */
export function sampleImage(random: () => number): Promise<Uint8Array> {
  const data = new Uint8Array(WIDTH * HEIGHT * 3);
  const waves = Array.from({ length: 3 }, () => [random() / 40, random() / 40, random() * 6]);
  let noise = Math.floor(random() * 0xffffffff) | 1;
  let at = 0;
  for (let y = 0; y < HEIGHT; y++) {
    for (let x = 0; x < WIDTH; x++) {
      noise = (Math.imul(noise, 1664525) + 1013904223) | 0;
      const grain = (noise >>> 28) - 8;
      for (const [across = 0, down = 0, phase = 0] of waves) {
        data[at++] = 128 + 90 * Math.sin(x * across + y * down + phase) + grain;
      }
    }
  }
  for (let shape = 0; shape < SHAPES; shape++) drawBox(data, random);
  return sharp(data, { raw: { width: WIDTH, height: HEIGHT, channels: 3 } })
    .jpeg({ quality: 85 })
    .toBuffer();
}

/** A dark box, as a letter or a thing has edges. */
function drawBox(data: Uint8Array, random: () => number): void {
  const left = Math.floor(random() * (WIDTH - 200));
  const top = Math.floor(random() * (HEIGHT - 100));
  const width = 20 + Math.floor(random() * 180);
  const height = 10 + Math.floor(random() * 90);
  const value = Math.floor(random() * 80);
  for (let y = top; y < top + height; y++) {
    data.fill(value, (y * WIDTH + left) * 3, (y * WIDTH + left + width) * 3);
  }
}
