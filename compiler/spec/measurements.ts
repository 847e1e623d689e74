/** Checks the measurements of an application against the needs of its method and its SLO. */
import type { Application } from "./application.ts";
import { conflict, type Mistake } from "./document/mistakes.ts";
import { rulesOf } from "./policy.ts";
import { profileFor } from "./pool-profiles.ts";

/** Checks only profiles that a pool uses; the method reports missing ones. */
export function* measurementMistakes({
  tasks,
  policy,
  slo,
  cluster,
}: Application): Generator<Mistake> {
  const rules = rulesOf(policy);
  for (const [taskIndex, task] of tasks.entries()) {
    let isMeasured = true;
    for (const [index, variant] of task.variants.entries()) {
      const path = ["tasks", taskIndex, "variants", index, "profile"];
      const used = new Set(cluster.pools.map((pool) => profileFor(variant, pool)));
      isMeasured &&= variant.profiles.some((profile) => used.has(profile));
      for (const [position, profile] of variant.profiles.entries()) {
        if (!used.has(profile)) continue;
        const at = variant.profiles.length === 1 ? path : [...path, position];
        yield* rules.measurementMistakes({ ...variant, profile }, at);
      }
    }
    if (isMeasured) yield* rules.sloMistakes?.(task, slo) ?? [];
  }
}

/** Finds network latency that would be counted twice. */
export function* wayMistakes({ tasks, cluster }: Application): Generator<Mistake> {
  const hopMs = cluster.communicationLatencyMs;
  if (hopMs === 0) return;
  const profiles = tasks.flatMap(({ variants }) => variants.flatMap((variant) => variant.profiles));
  const measured = profiles.find(({ includesWay }) => includesWay === true);
  if (measured === undefined) return;
  yield conflict(
    ["cluster", "communicationLatency"],
    `expected auto or 0 ms, since the times of ${measured.file} were measured through workers of ` +
      `other machines and include the network, got ${hopMs} ms`,
  );
}
