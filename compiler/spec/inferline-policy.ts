/** The policy of method inferline in a spec. */
import type { InferlinePolicy } from "./application.ts";
import { type PolicyRulesOf, type PolicySpecOf, rowMistakes } from "./policy-rules.ts";

export const inferlineRules: PolicyRulesOf<"inferline"> = {
  resolve: resolveInferline,
  measurementMistakes: (variant, path) => rowMistakes("inferline", variant, path),
};

function resolveInferline(policy: PolicySpecOf<"inferline">): InferlinePolicy {
  const { sampleDuration, solveLimit, activation, ...rest } = policy;
  return {
    ...rest,
    sampleDurationMs: sampleDuration,
    solveLimitMs: solveLimit,
    activationMs: activation,
  };
}
