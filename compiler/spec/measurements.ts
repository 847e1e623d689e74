import type { Application, Slo, Task, Variant, VariantProfile } from "./application.ts";
import type { KeyPath } from "./document.ts";
import { conflict, type Mistake, show } from "./mistakes.ts";

/** What the measurements lack for the method, or say against the SLO. */
export function* measurementMistakes({ tasks, policy, slo }: Application): Generator<Mistake> {
  const { method } = policy;
  for (const [taskIndex, task] of tasks.entries()) {
    for (const [index, variant] of task.variants.entries()) {
      const { profile } = variant;
      const path = ["tasks", taskIndex, "variants", index, "profile"];
      if (method === "accordion") {
        yield* pipelineTimeMistakes(variant, path);
        continue;
      }
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
    if (method === "ramsis") yield* latencyMistakes(task, slo);
  }
}

/** @param path of what names the profiles: one of them, or a list. */
function* pipelineTimeMistakes({ profiles }: Variant, path: KeyPath): Generator<Mistake> {
  for (const [index, profile] of profiles.entries()) {
    const lack = pipelineLack(profile);
    if (lack === null) continue;
    const needed = "method accordion needs layers, or speedups with latencyMs of batch 1";
    const message = `${needed}, and ${profile.file} has ${lack} for ${show(profile.variant)}`;
    yield conflict(profiles.length === 1 ? path : [...path, index], message);
  }
}

/** What is there instead of the times of a pipeline; null where they are there. */
function pipelineLack({ layers, speedups, rows }: VariantProfile): string | null {
  if (layers !== null) return null;
  if (speedups === null) return "neither";
  return rows.some(({ batch }) => batch === 1) ? null : "speedups alone";
}

/** An SLO that not even one query meets. */
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
    // Batch 1 was not measured, so nothing is known against this variant.
    if (row?.batch !== 1) return;
    if (fastest === null || row.latencyMs < fastest.latencyMs) {
      fastest = { name, latencyMs: row.latencyMs };
    }
  }
  if (fastest === null || fastest.latencyMs <= sloMs) return;
  const found = `${fastest.latencyMs} ms of ${show(fastest.name)}, the fastest variant of ${show(task.name)}`;
  yield conflict(path, `expected at least the ${found} at batch 1, got ${sloMs} ms`);
}
