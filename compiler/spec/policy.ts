/** Whose rules hold for the policy of a spec: a registry. */
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

/** Methods that serve classes of requests with SLOs of their own. */
export function methodsWithClasses(): string[] {
  const rules: Readonly<Record<string, PolicyRules>> = RULES;
  return Object.keys(rules).filter((name) => rules[name]?.classes !== undefined);
}

/** Methods that keep targets of latency percentiles. */
export function methodsWithTargets(): string[] {
  const rules: Readonly<Record<string, PolicyRules>> = RULES;
  return Object.keys(rules).filter((name) => rules[name]?.latencyTargets === true);
}

/** What in a policy does not fit the tasks of its spec, whose pipeline is sound. */
export function* policyMistakes({ policy, tasks }: ApplicationSpec): Iterable<Mistake> {
  yield* rulesOf(policy).taskMistakes?.(policy, tasks) ?? [];
  if (rulesOf(policy).buckets !== true) yield* sizeMistakes(policy.method, tasks);
}

/** Methods that pad requests up to one of several sizes. */
function methodsWithBuckets(): string {
  const rules: Readonly<Record<string, PolicyRules>> = RULES;
  return Object.keys(rules)
    .filter((name) => rules[name]?.buckets === true)
    .join(" or ");
}

/** Lists of sizes, and their shares, where the method knows one size of each axis. */
function* sizeMistakes(method: MethodName, tasks: ApplicationSpec["tasks"]): Generator<Mistake> {
  const allowed = `allowed: one size, a task for each size, or method ${methodsWithBuckets()}`;
  for (const [taskIndex, { variants, bucketShares }] of tasks.entries()) {
    for (const [index, { axes = {} }] of variants.entries()) {
      for (const [key, use] of Object.entries(axes)) {
        if (typeof use !== "object") continue;
        const path = ["tasks", taskIndex, "variants", index, "axes", key];
        const found = `got ${use.join(", ")}`;
        const message = `method ${method} has one size for each axis, ${found}; ${allowed}`;
        yield { code: "INPUT_UNSUPPORTED", path, message };
      }
    }
    if (bucketShares === undefined) continue;
    const path = ["tasks", taskIndex, "bucketShares"];
    const found = "got shares of several";
    const message = `method ${method} has one size for each axis, ${found}; ${allowed}`;
    yield { code: "INPUT_UNSUPPORTED", path, message };
  }
}

/** The policy of a spec without mistakes. */
export function resolvePolicy(
  { policy, tasks }: ApplicationSpec,
  starts: MeasuredStarts,
  sloMs: number,
): Policy {
  return rulesOf(policy).resolve(policy, tasks, starts, sloMs);
}
