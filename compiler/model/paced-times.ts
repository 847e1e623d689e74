/** Service times on a machine that is slower than its profile. */
import type { ServiceTimes } from "stratagem-runtime/internal/bundle/schema";
import { stretchedTimes } from "./planned-times.ts";

/** Paces, other than 1, that bundles have levels and promises for. */
export const PACES = [1.25, 1.5, 2, 3] as const;

/** Returns tasks or buckets whose service times are `pace` times as long. */
export function pacedTimes<T extends { readonly serviceTimes: ServiceTimes }>(
  timed: readonly T[],
  pace: number,
): readonly T[] {
  return timed.map((one) => ({ ...one, serviceTimes: stretchedTimes(one.serviceTimes, pace) }));
}
