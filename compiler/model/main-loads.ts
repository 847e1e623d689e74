/** Loads of a long list that levels are searched for; those close to them share what was found. */

/** Two neighbours are close where the lower one is more than this part of the higher. */
const CLOSE = 0.93;
/** All loads of a list as short as this are main ones. */
const SHORT = 16;

/**
 * @param loadsQps ascending. @param close as above.
 * @returns the ends and, downwards, each that is not close.
 */
export function mainLoads(loadsQps: readonly number[], close = CLOSE): ReadonlySet<number> {
  if (loadsQps.length <= SHORT) return new Set(loadsQps);
  const main = new Set(loadsQps.slice(0, 1));
  let last = Number.POSITIVE_INFINITY;
  for (const qps of [...loadsQps].reverse()) {
    if (qps > close * last) continue;
    main.add(qps);
    last = qps;
  }
  return main;
}
