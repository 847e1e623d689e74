/** Policy of method inferline in a spec. */
import type { InferlinePolicy } from "./application.ts";
import { type PolicyRulesOf, type PolicySpecOf, rowMistakes } from "./policy-rules.ts";
import { scalerDelayOf } from "./scaler-delay.ts";
import type { TaskSpec } from "./schema/application-schema.ts";
import type { MeasuredStarts } from "./start-times.ts";

export const inferlineRules: PolicyRulesOf<"inferline"> = {
  resolve: resolveInferline,
  measurementMistakes: (variant, path) => rowMistakes("inferline", variant, path),
  sizes: "largest",
};

/** Default without a value in spec or profiles. */
const DEFAULT_MS = 5000;
/** Default length of a sample trace in SLOs, at loads where it has enough requests. */
const SAMPLE_SLOS = 1200;
/** At this number ten requests exceed the 99th percentile; fewer make it uncertain. */
const SAMPLE_REQUESTS = 1000;

function resolveInferline(
  policy: PolicySpecOf<"inferline">,
  _tasks: readonly TaskSpec[],
  { workerMs: measured }: MeasuredStarts,
  sloMs: number,
): InferlinePolicy {
  const { sampleDuration, sampleRequests, solveLimit, ...others } = policy;
  const { activation, scaler, scalerPolling, ...rest } = others;
  const leastRequests = sampleRequests ?? (sampleDuration === undefined ? SAMPLE_REQUESTS : null);
  return {
    ...rest,
    sampleDurationMs: sampleDuration ?? SAMPLE_SLOS * sloMs,
    ...(leastRequests === null ? {} : { sampleRequests: leastRequests }),
    solveLimitMs: solveLimit,
    ...scalerDelayOf(scaler, scalerPolling),
    activationMs: activation ?? measured ?? DEFAULT_MS,
    ...(activation === undefined && measured !== null ? { startFrom: "profiles" } : {}),
  };
}
