/** Serves everything with one variant. */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import {
  type Decision,
  deadlineAwareBundle,
  largestWithin,
  serviceMsByVariant,
} from "../baseline-bundle.ts";

/**
 * The same application served by one variant alone, as a bundle.
 *
 * At every load it runs the largest batch of the variant that meets the earliest deadline, and all
 * that wait when none does: these are late in any case, and the largest batch is the soonest way
 * back.
 * @param variant index of the variant.
 */
export function fixedVariantBundle(bundle: RamsisBundle, variant: number): RamsisBundle {
  const serviceMs = serviceMsByVariant(bundle)[variant];
  assert(serviceMs !== undefined, "a variant has service times");
  return deadlineAwareBundle(bundle, (queued, slackMs) =>
    largestInTime(variant, serviceMs, queued, slackMs),
  );
}

/**
 * The largest batch of a variant within the slack, or the largest there is.
 * @param serviceMs by batch size less one, non-decreasing.
 */
export function largestInTime(
  variant: number,
  serviceMs: Float64Array,
  queued: number,
  slackMs: number,
): Decision {
  const largest = Math.min(queued, serviceMs.length);
  const inTime = Math.min(largest, largestWithin(serviceMs, slackMs));
  return { variant, batch: inTime === 0 ? largest : inTime };
}
