/** Chooses the plans of a bundle whose hardware and batches an autoscaler may be given. */

/** Of plans that differ; more say little more, and each is tried with every setting. */
const MOST_PLANS = 3;

/**
 * The level that the bundle begins with, then others whose stages are made otherwise: the highest,
 * the lowest, the middle one, then any.
 * @param shapes of the levels: the same text for plans that differ in replicas alone.
 * @param first index of the level that the bundle begins with.
 * @returns indices of levels.
 */
export function triedLevels(shapes: readonly string[], first: number): number[] {
  const count = shapes.length;
  const others = [count - 1, 0, count >>> 1, ...shapes.keys()];
  const chosen: number[] = [];
  const known = new Set<string | undefined>();
  for (const index of [first, ...others]) {
    if (known.has(shapes[index]) || chosen.length === MOST_PLANS) continue;
    known.add(shapes[index]);
    chosen.push(index);
  }
  return chosen;
}

/** Part of the replicas of a level's plan that would carry the load of the first, at most all. */
export function partFor(
  levels: readonly { readonly loadQps: number }[],
  first: number,
  index: number,
): number {
  const firstQps = levels[first]?.loadQps ?? Number.NaN;
  return Math.min(1, firstQps / (levels[index]?.loadQps ?? Number.NaN));
}
