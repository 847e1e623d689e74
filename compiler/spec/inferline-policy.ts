/** The policy of method inferline in a spec. */
import type { InferlinePolicy } from "./application.ts";
import { type PolicyRulesOf, type PolicySpecOf, rowMistakes } from "./policy-rules.ts";
import { scalerDelayOf } from "./scaler-delay.ts";
import type { TaskSpec } from "./schema/application-schema.ts";
import type { MeasuredStarts } from "./start-times.ts";

export const inferlineRules: PolicyRulesOf<"inferline"> = {
  resolve: resolveInferline,
  measurementMistakes: (variant, path) => rowMistakes("inferline", variant, path),
};

/** Where neither the spec nor a profile says it. */
const DEFAULT_MS = 5000;
/** Default length of a sample trace, at loads that make it enough. */
const SAMPLE_SLOS = 1200;
/** Ten of them may miss a 99th percentile: fewer say little of it. */
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
