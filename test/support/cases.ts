/** How many generated cases a test tries: a part in `npm test`, all in `npm run test:system`. */

/** Of the cases of hostile tests, what `npm test` tries. */
const SHARE = 10;

/** Whether a run tries all. */
export const TRIES_ALL = process.env["STRATAGEM_CASES"] === "all";

/** Every so manieth of a list, or all of it. */
export function someOf<T>(all: readonly T[], share = SHARE): T[] {
  const step = Math.ceil(all.length / Math.max(1, casesOf(all.length, share)));
  return all.filter((_, index) => index % step === 0);
}

/** @param all of a test, at least one of which is always tried. @param share one in how many. */
export function casesOf(all: number, share = SHARE): number {
  return TRIES_ALL ? all : Math.ceil(all / share);
}
