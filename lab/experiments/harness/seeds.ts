/** Seeded repetitions of one run. */

/** 1, 2, 3 …, or from another first one on. */
export function seedsTo(count: number, first = 1): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + first);
}

/** Results in the order of the seeds, one after another: each has the machine for itself. */
export async function overSeeds<T>(
  seeds: readonly number[],
  run: (seed: number) => Promise<T> | T,
): Promise<T[]> {
  const results: T[] = [];
  for (const seed of seeds) results.push(await run(seed));
  return results;
}
