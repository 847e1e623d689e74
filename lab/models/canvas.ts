/**
 * A square grey image that is drawn on.
 *
 * Only integer arithmetic and the operations IEEE 754 rounds exactly (+ - * / and Math.sqrt) are
 * used, so that every machine draws the same bytes; a rotation is therefore given as the tangent of
 * its half angle, without sin or cos.
 */
import { between, type RandomSource, type Strokes } from "./letters.ts";

/** How a letter lies in the image. */
interface Placement {
  readonly centreX: number;
  readonly centreY: number;
  readonly scale: number;
  readonly widthScale: number;
  readonly shear: number;
  readonly halfAngleTangent: number;
  /** How far each of its points may be off, before scaling. */
  readonly jitterMax: number;
}

export interface Stroke {
  /** Half the width, pixels. */
  readonly radius: number;
  readonly grey: number;
}

export class Canvas {
  readonly #side: number;
  /** Where in a pixel its place is: 0 at its corner, 0.5 in its middle. */
  readonly #middle: number;
  readonly #level: Float64Array;

  constructor(side: number, middle: number) {
    this.#side = side;
    this.#middle = middle;
    this.#level = new Float64Array(side * side);
  }

  /** A slow change of brightness across the image. */
  shade(random: RandomSource, background: number, slopeMax: number): void {
    const side = this.#side;
    const slopeX = between(random, -slopeMax, slopeMax);
    const slopeY = between(random, -slopeMax, slopeMax);
    for (let y = 0; y < side; y++) {
      for (let x = 0; x < side; x++) {
        this.#level[y * side + x] = background + slopeX * (x - side / 2) + slopeY * (y - side / 2);
      }
    }
  }

  /** A rectangle of one grey level. */
  fill(left: number, top: number, width: number, height: number, grey: number): void {
    for (let y = top; y < top + height; y++) {
      this.#level.fill(grey, y * this.#side + left, y * this.#side + left + width);
    }
  }

  /** A letter, sheared, rotated and moved, each of its points a little off. */
  letter(random: RandomSource, strokes: Strokes, placement: Placement, stroke: Stroke): void {
    const { centreX, centreY, scale, widthScale, shear, jitterMax } = placement;
    const t = placement.halfAngleTangent;
    const cosine = (1 - t * t) / (1 + t * t);
    const sine = (2 * t) / (1 + t * t);
    const jitter = () => between(random, -jitterMax, jitterMax);
    for (const own of strokes) {
      const points: number[] = [];
      for (let i = 0; i < own.length; i += 2) {
        const y = ((own[i + 1] ?? 0) + jitter()) * scale;
        const x = ((own[i] ?? 0) + jitter()) * widthScale + shear * y;
        points.push(centreX + cosine * x - sine * y, centreY + sine * x + cosine * y);
      }
      for (let i = 0; i + 3 < points.length; i += 2) this.segment(points.slice(i, i + 4), stroke);
    }
  }

  /** Blends a round-ended stroke of one grey level in, its edge one pixel soft. */
  segment([x0 = 0, y0 = 0, x1 = 0, y1 = 0]: readonly number[], { radius, grey }: Stroke): void {
    const [side, level, middle] = [this.#side, this.#level, this.#middle];
    const reach = radius + 1;
    const left = Math.max(0, Math.floor(Math.min(x0, x1) - reach));
    const right = Math.min(side - 1, Math.floor(Math.max(x0, x1) + reach));
    const top = Math.max(0, Math.floor(Math.min(y0, y1) - reach));
    const bottom = Math.min(side - 1, Math.floor(Math.max(y0, y1) + reach));
    const dx = x1 - x0;
    const dy = y1 - y0;
    const lengthSquared = dx * dx + dy * dy;
    for (let y = top; y <= bottom; y++) {
      for (let x = left; x <= right; x++) {
        const fromX = x + middle - x0;
        const fromY = y + middle - y0;
        const along = lengthSquared > 0 ? (fromX * dx + fromY * dy) / lengthSquared : 0;
        const t = along < 0 ? 0 : along > 1 ? 1 : along;
        const offX = fromX - t * dx;
        const offY = fromY - t * dy;
        const cover = radius + 0.5 - Math.sqrt(offX * offX + offY * offY);
        if (cover <= 0) continue;
        const i = y * side + x;
        const old = level[i] ?? 0;
        level[i] = old + (cover < 1 ? cover : 1) * (grey - old);
      }
    }
  }

  /**
   * Adds bell-shaped noise (a sum of four bytes) to each pixel and rounds it to a grey level.
   * @param pixels receives the image, [side * side].
   */
  finish(random: RandomSource, deviation: number, pixels: Uint8Array): void {
    // Four bytes, uniform on 0..255, have the mean 510 and the standard deviation 147.8.
    const factor = deviation / 147.8;
    for (const [i, level] of this.#level.entries()) {
      const bits = Math.floor(random() * 4294967296);
      const sum = (bits & 255) + ((bits >>> 8) & 255) + ((bits >>> 16) & 255) + (bits >>> 24);
      const value = Math.floor(level + factor * (sum - 510) + 0.5);
      pixels[i] = value < 0 ? 0 : value > 255 ? 255 : value;
    }
  }
}
