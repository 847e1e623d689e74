/** Measured profiles of variants, as `inspect --json` reports them. */
import type { PipelineVariant, StageVariant } from "../bundle/schema.ts";

/** Returns the measurements; other tables are reported as sections. */
export function measuredReports(variants: readonly (PipelineVariant | StageVariant)[]) {
  return variants.map(({ profiles, ...variant }) => ({
    ...variant,
    profiles: profiles.map(
      (measured) =>
        measured && {
          ...measured.profile,
          percentile: measured.serviceTimes.percentile,
          batches: Array.from(measured.batches.data),
          latencyMs: Array.from(measured.latencyMs.data),
        },
    ),
  }));
}
