/** Policy of method ramsis in a spec. */
import type { Slo, Task } from "./application.ts";
import type { KeyPath } from "./document/document.ts";
import { conflict, type Mistake, show } from "./document/mistakes.ts";
import { type PolicyRulesOf, rowMistakes } from "./policy-rules.ts";

export const ramsisRules: PolicyRulesOf<"ramsis"> = {
  resolve: ({ lateWithin, ...policy }) => ({ ...policy, lateWithinSlos: lateWithin }),
  measurementMistakes: (variant, path) => rowMistakes("ramsis", variant, path),
  sloMistakes: latencyMistakes,
  sizes: "tables",
  latencyTargets: true,
  classes: {
    asked: ({ classes }) => classes,
    *mistakes({ balancer }) {
      if (balancer === "pooled") return;
      const message = `expected "pooled", since slo has classes, got ${show(balancer)}`;
      yield conflict(["policy", "balancer"], message);
    },
  },
};

/** Finds an SLO that is too short for a single query. */
function* latencyMistakes(task: Task, { latencyMs, classes }: Slo): Generator<Mistake> {
  if (classes === undefined) yield* fastestMistakes(task, latencyMs, ["slo", "latency"]);
  for (const [index, sloClass] of (classes ?? []).entries()) {
    yield* fastestMistakes(task, sloClass.latencyMs, ["slo", "classes", index, "latency"]);
  }
}

function* fastestMistakes(task: Task, sloMs: number, path: KeyPath): Generator<Mistake> {
  let fastest: { name: string; latencyMs: number } | null = null;
  for (const { name, profile } of task.variants) {
    const row = profile.rows[0];
    // Batch 1 was not measured, so the variant cannot be judged.
    if (row?.batch !== 1) return;
    if (fastest === null || row.latencyMs < fastest.latencyMs) {
      fastest = { name, latencyMs: row.latencyMs };
    }
  }
  if (fastest === null || fastest.latencyMs <= sloMs) return;
  const found =
    `${fastest.latencyMs} ms of ${show(fastest.name)}, the fastest variant of ` +
    `${show(task.name)}`;
  yield conflict(path, `expected at least the ${found} at batch 1, got ${sloMs} ms`);
}
