/** Measured profiles of variants as `inspect --json` tells them. */
import type { PipelineVariant, StageVariant } from "../bundle/schema.ts";

/** Tables as the sections they are, apart from what was measured. */
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
