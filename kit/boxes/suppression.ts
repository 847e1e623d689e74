/** Non-maximum suppression of boxes. */

export interface Detections {
  /** Left, top, right and bottom of each box. */
  readonly corners: Float32Array;
  readonly scores: Float32Array;
  readonly classes: Uint32Array;
}

interface Rule {
  /** Boxes that overlap one more likely by more than this go: intersection over union. */
  readonly maxOverlap: number;
  readonly isAcrossClasses: boolean;
  /** How many stay at most. */
  readonly max: number;
}

/** Indices of those that stay, the most likely first; of equal scores the first comes first. */
export function suppressed({ corners, scores, classes }: Detections, rule: Rule): number[] {
  const order = Array.from(scores.keys()).sort(
    (a, b) => (scores[b] as number) - (scores[a] as number) || a - b,
  );
  const kept: number[] = [];
  for (const index of order) {
    if (kept.length === rule.max) break;
    const isCovered = kept.some(
      (other) =>
        (rule.isAcrossClasses || classes[other] === classes[index]) &&
        overlap(corners, other * 4, index * 4) > rule.maxOverlap,
    );
    if (!isCovered) kept.push(index);
  }
  return kept;
}

/** Intersection over union of two boxes, by where they begin in `corners`; 0 for two of no area. */
export function overlap(corners: Float32Array, one: number, other: number): number {
  const left = Math.max(corners[one] as number, corners[other] as number);
  const top = Math.max(corners[one + 1] as number, corners[other + 1] as number);
  const right = Math.min(corners[one + 2] as number, corners[other + 2] as number);
  const bottom = Math.min(corners[one + 3] as number, corners[other + 3] as number);
  const shared = Math.max(0, right - left) * Math.max(0, bottom - top);
  const union = areaOf(corners, one) + areaOf(corners, other) - shared;
  return union > 0 ? shared / union : 0;
}

function areaOf(corners: Float32Array, at: number): number {
  const width = (corners[at + 2] as number) - (corners[at] as number);
  const height = (corners[at + 3] as number) - (corners[at + 1] as number);
  return width * height;
}
