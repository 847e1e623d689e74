/** Registry of policy rules by method. */
import { accordionRules } from "./accordion-policy.ts";
import type { MethodName, Policy } from "./application.ts";
import type { Mistake } from "./document/mistakes.ts";
import { inferlineRules } from "./inferline-policy.ts";
import { lokiRules } from "./loki-policy.ts";
import type { PolicyRules, PolicyRulesOf } from "./policy-rules.ts";
import { ramsisRules } from "./ramsis-policy.ts";
import type { ApplicationSpec } from "./schema/application-schema.ts";
import type { MeasuredStarts } from "./start-times.ts";
import { themisRules } from "./themis-policy.ts";

const RULES: { readonly [M in MethodName]: PolicyRulesOf<M> } = {
  ramsis: ramsisRules,
  loki: lokiRules,
  inferline: inferlineRules,
  themis: themisRules,
  accordion: accordionRules,
};

export function rulesOf({ method }: { readonly method: MethodName }): PolicyRules {
  return RULES[method];
}

/** Lists methods that support request classes. */
export function methodsWithClasses(): string[] {
  const rules: Readonly<Record<string, PolicyRules>> = RULES;
  return Object.keys(rules).filter((name) => rules[name]?.classes !== undefined);
}

/** Lists methods that support latency percentile targets. */
export function methodsWithTargets(): string[] {
  const rules: Readonly<Record<string, PolicyRules>> = RULES;
  return Object.keys(rules).filter((name) => rules[name]?.latencyTargets === true);
}

/** Finds conflicts between a policy and the tasks of its spec, whose pipeline is valid. */
export function* policyMistakes({ policy, tasks }: ApplicationSpec): Iterable<Mistake> {
  yield* rulesOf(policy).taskMistakes?.(policy, tasks) ?? [];
  yield* sizeMistakes(policy, tasks);
}

/** Lists methods that pad requests to one of several sizes, each joined by "or". */
function methodsWithSizes(isFit: (how: PolicyRules["sizes"]) => boolean): string {
  const rules: Readonly<Record<string, PolicyRules>> = RULES;
  return Object.keys(rules)
    .filter((name) => isFit(rules[name]?.sizes))
    .join(" or ");
}

/** Finds lists of sizes, and their shares, in specs of methods that do not use them. */
function* sizeMistakes(
  policy: ApplicationSpec["policy"],
  tasks: ApplicationSpec["tasks"],
): Generator<Mistake> {
  const { method } = policy;
  const { sizes } = rulesOf(policy);
  if (sizes === "tables") return;
  for (const [taskIndex, { variants, bucketShares }] of tasks.entries()) {
    for (const [index, { axes = {} }] of variants.entries()) {
      const listed = Object.entries(axes).find(([, use]) => typeof use === "object");
      if (sizes === "largest" || listed === undefined) continue;
      const [key, use] = listed;
      const path = ["tasks", taskIndex, "variants", index, "axes", key];
      const found = `got ${Array.isArray(use) ? use.join(", ") : use}`;
      const methods = methodsWithSizes((how) => how !== undefined);
      const message =
        `method ${method} supports one size per axis, ${found}; ` +
        `allowed: one size, a task for each size, or method ${methods}`;
      yield { code: "INPUT_UNSUPPORTED", path, message };
    }
    if (bucketShares === undefined) continue;
    const path = ["tasks", taskIndex, "bucketShares"];
    const plans = sizes === "largest" ? "plans with the times of the largest size" : "has one size";
    const methods = methodsWithSizes((how) => how === "tables");
    const message =
      `method ${method} ${plans}, whatever the shares of the sizes; ` +
      `leave them out, or use method ${methods}`;
    yield { code: "INPUT_UNSUPPORTED", path, message };
  }
}

/** Resolves the policy of a valid spec. */
export function resolvePolicy(
  { policy, tasks }: ApplicationSpec,
  starts: MeasuredStarts,
  sloMs: number,
): Policy {
  return rulesOf(policy).resolve(policy, tasks, starts, sloMs);
}
