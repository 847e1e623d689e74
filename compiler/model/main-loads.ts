/**
 * Chooses the loads of a long list to search first; loads close to them start from what was found.
 */

/** Two neighbours are close if the lower is more than this fraction of the higher. */
const CLOSE = 0.93;
/** In a list of at most this length all loads are main loads. */
const SHORT = 16;

/**
 * @param loadsQps ascending.
 * @param close as above.
 * @returns the ends and, downwards, each load that is not close to the last.
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
