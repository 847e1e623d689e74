/** Returns why a bundle cannot follow the one that is served; null if it can. */
import { isDeepStrictEqual } from "node:util";
import { isOfSameMethod } from "../bundle/same-method.ts";
import type { Bundle } from "../bundle/schema.ts";

/** The first of the fields that is not the same, or the method; null if all are. */
export function bundleDifference<B extends Bundle>(
  before: B,
  after: Bundle,
  keys: readonly (keyof B & string)[],
): string | null {
  if (!isOfSameMethod(before, after)) return "method";
  return keys.find((key) => !isDeepStrictEqual(before[key], after[key])) ?? null;
}
