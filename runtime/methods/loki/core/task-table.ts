/** Reads the table of a task as that of a bundle with one level. */
import type { LokiBundle, RamsisBundle, StagePolicy } from "../../../bundle/schema.ts";
import { PolicyTable } from "../../../core/policy-table.ts";

/**
 * The table of a stage policy, as that of a bundle with one level.
 * @throws Error if it contradicts itself.
 */
export function taskTableOf(bundle: LokiBundle, stage: StagePolicy): PolicyTable {
  const { application, slo, arrivals, cluster, provenance } = bundle;
  const perQuery = { accuracy: { median: 0, p99: 0 }, violationRate: { median: 0, p99: 0 } };
  const synthetic: RamsisBundle = {
    application,
    method: "ramsis",
    slo,
    arrivals,
    cluster,
    provenance,
    tasks: [],
    policy: {
      objective: "per-query",
      discretization: { kind: "model-based" },
      batching: "variable",
      maxQueue: stage.decisionSpace.maxQueue,
      balancer: "pooled",
      serviceTimes: "p95",
      drop: false,
    },
    decisionSpace: stage.decisionSpace,
    levels: [
      {
        loadQps: 1,
        feasible: true,
        capacityQps: 1,
        expected: {
          accuracyPerSatisfied: 0,
          accuracyPerQuery: 0,
          violationRate: 0,
          upperBoundAccuracy: 0,
          byBatch: perQuery,
        },
        solve: { method: "stage", iterations: 0, residual: 0, states: 0 },
        actionByState: stage.actionByState,
        mixture: null,
      },
    ],
  };
  return PolicyTable.fromBundle(synthetic);
}
