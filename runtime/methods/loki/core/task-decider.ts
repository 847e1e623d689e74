/** Decides within a task by the table that RAMSIS made for it. */
import type { LokiBundle, RamsisBundle, StagePolicy } from "../../../bundle/schema.ts";
import type { PipelineShape } from "../../../core/graph/pipeline-shape.ts";
import { GIVE_UP, PolicyTable, WAIT } from "../../../core/policy-table.ts";

/** Far above the rounding of a difference of times, far below a service time. */
const ROUNDING_MS = 1e-6;

const DECIDED_START = 0;
export const DECIDED_WAIT = 1;
export const DECIDED_GIVE_UP = 2;

/** Decides with the tables of stage policies; the decision is left in the fields. */
export class TaskDecider {
  /** Of the task, not of all. */
  variant = 0;
  batch = 0;
  /** After the decision to wait: for how long at most. */
  waitMs = 0;
  readonly #taskCount: number;
  /** [levelCount * taskCount] */
  readonly #tables: readonly (PolicyTable | null)[];
  /** Variant of the task with the highest rate on full batches, and that batch, by table. */
  readonly #rescue: readonly { readonly variant: number; readonly batch: number }[];

  constructor(bundle: LokiBundle, shape: PipelineShape) {
    this.#taskCount = shape.taskCount;
    const stages = bundle.levels.flatMap(({ stages: byTask }) =>
      bundle.tasks.map((_, task) => byTask?.[task] ?? null),
    );
    this.#tables = stages.map((stage) => (stage === null ? null : taskTableOf(bundle, stage)));
    this.#rescue = stages.map((stage) => {
      let best = { variant: 0, batch: 1 };
      if (stage === null) return best;
      const { data, shape: axes } = stage.serviceTimes.decisionMs;
      const actions = stage.decisionSpace.actions.data;
      let bestRate = 0;
      for (let action = 0; 2 * action < actions.length; action++) {
        const variant = actions[2 * action]!;
        const batch = actions[2 * action + 1]!;
        const rate = batch / data[variant * axes[1]! + batch - 1]!;
        if (rate <= bestRate) continue;
        best = { variant, batch };
        bestRate = rate;
      }
      return best;
    });
  }

  /**
   * @param queued at least one.
   * @param slackMs to the earliest deadline of the stage.
   * @returns what to do: start a batch, wait or give the first up.
   */
  decide(level: number, task: number, queued: number, slackMs: number): number {
    const table = this.#tables[level * this.#taskCount + task]!;
    const roundedMs = slackMs + ROUNDING_MS;
    const action = table.lookup(0, queued, roundedMs);
    if (action === GIVE_UP) return DECIDED_GIVE_UP;
    if (action === WAIT) {
      this.waitMs = roundedMs - table.waitUntilSlackMs(0, queued, roundedMs, 0) + ROUNDING_MS;
      return DECIDED_WAIT;
    }
    this.variant = table.variant(action);
    this.batch = table.batch(action);
    return DECIDED_START;
  }

  /**
   * Decides for queries that were given up, which are to be served some time: what gets rid of the
   * most of them per time.
   */
  rescue(level: number, task: number): void {
    const { variant, batch } = this.#rescue[level * this.#taskCount + task]!;
    this.variant = variant;
    this.batch = batch;
  }
}

/**
 * The table of a stage policy, as that of a bundle with one level.
 * @throws Error if it contradicts itself.
 */
function taskTableOf(bundle: LokiBundle, stage: StagePolicy): PolicyTable {
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
