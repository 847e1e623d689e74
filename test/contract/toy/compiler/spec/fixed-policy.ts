/** The policy of method fixed in a spec. */
import { conflict, show } from "./document/mistakes.ts";
import { type PolicyRulesOf, rowMistakes } from "./policy-rules.ts";

export const fixedRules: PolicyRulesOf<"fixed"> = {
  resolve: (policy) => policy,
  *taskMistakes({ variant }, tasks) {
    if (tasks.some(({ variants = [] }) => variants.some(({ name }) => name === variant))) return;
    yield conflict(["policy", "variant"], `expected a variant of the task, got ${show(variant)}`);
  },
  measurementMistakes: (variant, path) => rowMistakes("fixed", variant, path),
};
