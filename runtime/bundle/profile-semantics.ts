/** Checks that a profile has a time for every batch up to the largest. */
import { MAX_MS, MIN_MS } from "./limits.ts";
import type { PoolProfile } from "./schema.ts";
import { checkServiceTimes, checkShape, refuse } from "./table-semantics.ts";

/** @throws BundleError BUNDLE_SEMANTICS at the first contradiction. */
export function checkProfile(
  { batches, latencyMs, serviceTimes }: PoolProfile,
  path: string,
): void {
  checkShape(latencyMs, batches.shape, `${path}.latencyMs`);
  let previous = 0;
  batches.data.forEach((batch, row) => {
    if (batch <= previous) refuse(`${path}.batches.data[${row}]`, batch, `more than ${previous}`);
    previous = batch;
  });
  latencyMs.data.forEach((ms, row) => {
    if (!(ms >= MIN_MS && ms <= MAX_MS))
      refuse(`${path}.latencyMs.data[${row}]`, ms, "a time above 0");
  });
  checkServiceTimes(serviceTimes, 1, `${path}.serviceTimes`);
  const [, maxBatch] = serviceTimes.decisionMs.shape;
  if (maxBatch !== previous) {
    refuse(`${path}.serviceTimes.decisionMs.shape[1]`, maxBatch ?? 0, `${previous}, the largest`);
  }
}
