/** What the measurements of an application lack for its method, or say against its SLO. */
import type { Application } from "./application.ts";
import type { Mistake } from "./mistakes.ts";
import { rulesOf } from "./policy.ts";

export function* measurementMistakes({ tasks, policy, slo }: Application): Generator<Mistake> {
  const rules = rulesOf(policy);
  for (const [taskIndex, task] of tasks.entries()) {
    for (const [index, variant] of task.variants.entries()) {
      const path = ["tasks", taskIndex, "variants", index, "profile"];
      yield* rules.measurementMistakes(variant, path);
    }
    if (rules.sloMistakes !== undefined) yield* rules.sloMistakes(task, slo);
  }
}
