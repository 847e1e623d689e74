/** The plane projected: from a rectangle to any four corners. */
import type { Point } from "./rectangle.ts";

/**
 * Maps (u, v) of the unit square to a quadrilateral: its corners in the order of (0, 0), (1, 0),
 * (1, 1) and (0, 1). Of a parallelogram it is affine.
 * Source: Heckbert, Fundamentals of Texture Mapping and Image Warping (1989), section 2.2.3.
 */
export class Projection {
  readonly #a: number;
  readonly #b: number;
  readonly #c: number;
  readonly #d: number;
  readonly #e: number;
  readonly #f: number;
  readonly #g: number;
  readonly #h: number;

  /** @throws RangeError if the last three lie on one line, and it is no parallelogram. */
  constructor([p, q, r, s]: readonly [Point, Point, Point, Point]) {
    const sum = { x: p.x - q.x + r.x - s.x, y: p.y - q.y + r.y - s.y };
    const one = { x: q.x - r.x, y: q.y - r.y };
    const two = { x: s.x - r.x, y: s.y - r.y };
    const area = one.x * two.y - two.x * one.y;
    const isAffine = sum.x === 0 && sum.y === 0;
    if (!isAffine && area === 0) {
      throw new RangeError("expected corners whose last three are not on a line");
    }
    this.#g = isAffine ? 0 : (sum.x * two.y - two.x * sum.y) / area;
    this.#h = isAffine ? 0 : (one.x * sum.y - sum.x * one.y) / area;
    this.#a = q.x - p.x + this.#g * q.x;
    this.#b = s.x - p.x + this.#h * s.x;
    this.#c = p.x;
    this.#d = q.y - p.y + this.#g * q.y;
    this.#e = s.y - p.y + this.#h * s.y;
    this.#f = p.y;
  }

  x(u: number, v: number): number {
    return (this.#a * u + this.#b * v + this.#c) / (this.#g * u + this.#h * v + 1);
  }

  y(u: number, v: number): number {
    return (this.#d * u + this.#e * v + this.#f) / (this.#g * u + this.#h * v + 1);
  }
}
