/** Serves each queue with the most accurate variant in time, without foresight. */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import {
  deadlineAwareBundle,
  fastestVariant,
  mostAccurate,
  serviceMsByVariant,
  taskOf,
} from "../baseline-bundle.ts";
import { largestInTime } from "./fixed-variant.ts";

/**
 * The same application served without foresight, as a bundle: each state runs the most accurate
 * variant that serves all queued queries within the slack; if there is none, the fastest, with the
 * largest batch that it serves in time.
 *
 * What this lacks to a policy is the regard for the queries that arrive while the batch runs.
 */
export function greedyBundle(bundle: RamsisBundle): RamsisBundle {
  const task = taskOf(bundle);
  const serviceMs = serviceMsByVariant(bundle);
  return deadlineAwareBundle(bundle, (queued, slackMs) => {
    const inTime = mostAccurate(
      task,
      (variant) => (serviceMs[variant]?.[queued - 1] ?? Number.POSITIVE_INFINITY) <= slackMs,
    );
    if (inTime >= 0) return { variant: inTime, batch: queued };
    const largest = Math.min(queued, ...serviceMs.map(({ length }) => length));
    const fastest = fastestVariant(serviceMs, largest);
    return largestInTime(fastest, serviceMs[fastest] ?? new Float64Array(), queued, slackMs);
  });
}
