/** The policy of method inferline in a spec. */
import type { InferlinePolicy } from "./application.ts";
import type { TaskSpec } from "./application-schema.ts";
import { type PolicyRulesOf, type PolicySpecOf, rowMistakes } from "./policy-rules.ts";
import { scalerDelayOf } from "./scaler-delay.ts";
import type { MeasuredStarts } from "./start-times.ts";

export const inferlineRules: PolicyRulesOf<"inferline"> = {
  resolve: resolveInferline,
  measurementMistakes: (variant, path) => rowMistakes("inferline", variant, path),
};

/** Where neither the spec nor a profile says it. */
const DEFAULT_MS = 5000;

function resolveInferline(
  policy: PolicySpecOf<"inferline">,
  _tasks: readonly TaskSpec[],
  { workerMs: measured }: MeasuredStarts,
): InferlinePolicy {
  const { sampleDuration, solveLimit, activation, scaler, scalerPolling, ...rest } = policy;
  return {
    ...rest,
    sampleDurationMs: sampleDuration,
    solveLimitMs: solveLimit,
    ...scalerDelayOf(scaler, scalerPolling),
    activationMs: activation ?? measured ?? DEFAULT_MS,
    ...(activation === undefined && measured !== null ? { startFrom: "profiles" } : {}),
  };
}
