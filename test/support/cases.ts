/** How many generated cases a hostile test tries. */

/** Of the cases, what `npm test` tries; `npm run test:system` tries them all. */
const SHARE = 10;

/** Every tenth of a list, or all of it. */
export function someOf<T>(all: readonly T[]): T[] {
  const step = Math.ceil(all.length / Math.max(1, casesOf(all.length)));
  return all.filter((_, index) => index % step === 0);
}

/** @param all of a test, at least one of which is always tried. */
export function casesOf(all: number): number {
  return process.env["STRATAGEM_CASES"] === "all" ? all : Math.ceil(all / SHARE);
}
