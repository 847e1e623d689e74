/** Promises of bundles that were never compiled, for gates to judge. */
import type { PromisedBundle, PromisedLevel } from "../../../compiler/gate/promised-bundle.ts";

export const FIGURES = { violations: 0.002, accuracy: 0.97, accuracyPerQuery: 0.968, cost: 2 };

export function level(loadQps: number, change: Partial<PromisedLevel> = {}): PromisedLevel {
  const none = { missed: [], classes: [], buckets: [] };
  return { loadQps, feasible: true, figures: FIGURES, ...none, ...change };
}

export function promised(
  levels: readonly PromisedLevel[],
  change: Partial<PromisedBundle> = {},
): PromisedBundle {
  return {
    application: "letters",
    method: "ramsis",
    byteCount: 1000,
    slo: { latencyMs: 100, maxViolationRate: 0.01, percentile: 99 },
    levels,
    ...change,
  };
}
