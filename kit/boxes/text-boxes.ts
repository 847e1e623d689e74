/** Boxes around lines of text from the map of a detector, as PaddleOCR's DBPostProcess has them. */
import { type Bitmap, componentEnds } from "../geometry/components.ts";
import {
  convexHull,
  cornersOf,
  grown,
  type Point,
  type Rectangle,
  shorterSide,
  smallestRectangle,
} from "../geometry/rectangle.ts";

export interface TextRule {
  /** Pixels above it are of text. */
  readonly threshold: number;
  /** Boxes whose mean is below it go. */
  readonly minScore: number;
  /** A box grows by its area times this, divided by its perimeter. */
  readonly unclip: number;
  /** Boxes whose shorter side is less go; once they are grown, those of less than this and 2. */
  readonly minSide: number;
  /** Whether text grows by a pixel to the right and below first. */
  readonly isDilated: boolean;
}

export interface ProbabilityMap {
  readonly data: Float32Array;
  readonly width: number;
  readonly height: number;
}

export interface TextBox {
  /** Clockwise from the upper left. */
  readonly corners: readonly Point[];
  /** Mean of the map in the box before it grew. */
  readonly score: number;
}

/**
 * In the order of their highest pixels. Of what encloses a hole the hole is no box of its own,
 * where OpenCV's list of contours has it.
 * Source: Liao and others, Real-time Scene Text Detection with Differentiable Binarization (AAAI
 * 2020), section 3.5 (its offset D = A r / L); PaddleOCR, ppocr/postprocess/db_postprocess.py.
 */
export function textBoxes(map: ProbabilityMap, rule: TextRule): TextBox[] {
  return componentEnds(textOf(map, rule)).flatMap((ends) => {
    const tight = smallestRectangle(convexHull(ends));
    if (shorterSide(tight) < rule.minSide) return [];
    // Whole pixels, as PaddleOCR has them: thresholds are chosen for scores of these.
    const whole = cornersOf(tight).map(({ x, y }) => ({ x: Math.floor(x), y: Math.floor(y) }));
    const score = meanWithin(map, whole);
    if (score < rule.minScore) return [];
    const loose = grown(tight, offsetOf(tight, rule.unclip));
    if (shorterSide(loose) < rule.minSide + 2) return [];
    return [{ corners: cornersOf(loose), score }];
  });
}

/** @throws RangeError if the map has a value that is no number. */
function textOf({ data: map, width, height }: ProbabilityMap, rule: TextRule): Bitmap {
  const data = new Uint8Array(map.length);
  for (let at = 0; at < map.length; at++) {
    const value = map[at] as number;
    if (value > rule.threshold) data[at] = 1;
    else if (Number.isNaN(value)) throw new RangeError(`expected numbers, got NaN at ${at}`);
  }
  if (rule.isDilated) dilate(data, width, height);
  return { data, width, height };
}

/** From the end, so that nothing grows twice. */
function dilate(data: Uint8Array, width: number, height: number): void {
  for (let y = height - 1; y >= 0; y--) {
    for (let x = width - 1; x >= 0; x--) {
      const at = y * width + x;
      const left = x > 0 && data[at - 1] === 1;
      const above = y > 0 && data[at - width] === 1;
      const both = x > 0 && y > 0 && data[at - width - 1] === 1;
      if (left || above || both) data[at] = 1;
    }
  }
}

function offsetOf({ halfWidth, halfHeight }: Rectangle, ratio: number): number {
  const perimeter = 4 * (halfWidth + halfHeight);
  return perimeter === 0 ? 0 : (4 * halfWidth * halfHeight * ratio) / perimeter;
}

/** Returns the mean over the pixels of a convex polygon, with those that its sides cross. */
function meanWithin({ data, width, height }: ProbabilityMap, corners: readonly Point[]): number {
  const lines = corners.map(({ y }) => y);
  const from = Math.max(0, Math.floor(Math.min(...lines)));
  const to = Math.min(height - 1, Math.ceil(Math.max(...lines)));
  let [sum, count] = [0, 0];
  for (let y = from; y <= to; y++) {
    const span = spanOf(corners, y);
    if (span === null) continue;
    const last = Math.min(width - 1, Math.round(span.right));
    for (let x = Math.max(0, Math.round(span.left)); x <= last; x++) {
      sum += data[y * width + x] as number;
      count++;
    }
  }
  return count === 0 ? 0 : sum / count;
}

/** Columns where a convex polygon is in a line of pixels, half a pixel above to half below. */
function spanOf(corners: readonly Point[], y: number): { left: number; right: number } | null {
  let [left, right] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const [index, a] of corners.entries()) {
    const b = corners[(index + 1) % corners.length] ?? a;
    const from = Math.max(Math.min(a.y, b.y), y - 0.5);
    const to = Math.min(Math.max(a.y, b.y), y + 0.5);
    if (from > to) continue;
    const slope = a.y === b.y ? 0 : (b.x - a.x) / (b.y - a.y);
    const ends = a.y === b.y ? [a.x, b.x] : [from, to].map((at) => a.x + (at - a.y) * slope);
    left = Math.min(left, ...ends);
    right = Math.max(right, ...ends);
  }
  return left > right ? null : { left, right };
}
