import type { Application, Task } from "./application.ts";
import { conflict, type Mistake, show } from "./mistakes.ts";

/** What the measurements lack for the method, or say against the SLO. */
export function* measurementMistakes({ tasks, policy, slo }: Application): Generator<Mistake> {
  const { method } = policy;
  for (const [taskIndex, task] of tasks.entries()) {
    for (const [index, { profile }] of task.variants.entries()) {
      const path = ["tasks", taskIndex, "variants", index, "profile"];
      const name = show(profile.variant);
      if (method === "themis" && profile.fit === null && profile.byCores === null) {
        yield conflict(
          path,
          `method themis needs fit or byCores, and ${profile.file} has neither for ${name}`,
        );
      }
      if (method !== "themis" && profile.rows.length === 0) {
        yield conflict(
          path,
          `method ${method} needs latencyMs, and ${profile.file} has none for ${name}`,
        );
      }
    }
    if (method === "ramsis") yield* sloMistakes(task, slo.latencyMs);
  }
}

function* sloMistakes(task: Task, sloMs: number): Generator<Mistake> {
  let fastest: { name: string; latencyMs: number } | null = null;
  for (const { name, profile } of task.variants) {
    const row = profile.rows[0];
    // Batch 1 was not measured, so nothing is known against this variant.
    if (row?.batch !== 1) return;
    if (fastest === null || row.latencyMs < fastest.latencyMs) {
      fastest = { name, latencyMs: row.latencyMs };
    }
  }
  if (fastest === null || fastest.latencyMs <= sloMs) return;
  const found = `${fastest.latencyMs} ms of ${show(fastest.name)}, the fastest variant of ${show(task.name)}`;
  yield conflict(["slo", "latency"], `expected at least the ${found} at batch 1, got ${sloMs} ms`);
}
