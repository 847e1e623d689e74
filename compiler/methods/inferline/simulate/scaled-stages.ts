/** Replicas as independent autoscalers of each stage want them. */
import type { InferlineBundle, InferlineLevel } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { longestPathMs } from "stratagem-runtime/internal/core/graph/longest-path";
import type { ReplicaTuner } from "stratagem-runtime/internal/methods/inferline/core/replica-tuner";
import type { StageFacts, StageScaler } from "../../../simulate/graph/scalers/scaler.ts";
import type { StageWatch } from "../../../simulate/graph/scalers/stage-watch.ts";

/**
 * A tuner that asks an autoscaler for each stage. The plan's hardware and batches stay; replicas
 * are limited to 1 … the size of the plan's pool.
 */
export class ScaledStages implements ReplicaTuner {
  readonly targets: Uint32Array;
  /** The level stays: autoscalers do not choose it. */
  readonly recentMeanQps = Number.NaN;
  wakeMs: number;
  readonly #periodMs: number;
  readonly #scalers: readonly StageScaler[];
  readonly #watch: StageWatch;
  readonly #most: Uint32Array;

  /** @param level whose plan is in place at first. */
  constructor(
    { cluster }: Pick<InferlineBundle, "cluster">,
    { plan }: Pick<InferlineLevel, "plan">,
    scalers: readonly StageScaler[],
    periodMs: number,
    watch: StageWatch,
  ) {
    assert(scalers.length === plan.stages.length, "every stage has an autoscaler");
    this.targets = Uint32Array.from(plan.stages, ({ replicas }) => replicas);
    this.#most = Uint32Array.from(plan.stages, ({ pool, replicas }) =>
      Math.max(replicas, cluster.pools[pool]?.workers ?? 0),
    );
    this.#scalers = scalers;
    this.#periodMs = periodMs;
    this.#watch = watch;
    this.wakeMs = periodMs;
  }

  onArrival(): boolean {
    return false;
  }

  tick(nowMs: number): boolean {
    if (!(nowMs >= this.wakeMs)) return false;
    let isChanged = false;
    for (const [task, scaler] of this.#scalers.entries()) {
      const before = this.targets[task] ?? 1;
      const wanted = scaler.decide(this.#watch.state(task, before, nowMs));
      assert(Number.isInteger(wanted), "an autoscaler wants an integer number of replicas");
      const target = Math.min(Math.max(1, wanted), this.#most[task] ?? 1);
      this.targets[task] = target;
      isChanged ||= target !== before;
    }
    this.wakeMs += this.#periodMs;
    return isChanged;
  }

  follow(): void {}
}

/** Facts for autoscalers, per stage. */
export function stageFactsOf(
  bundle: InferlineBundle,
  { plan }: Pick<InferlineLevel, "plan">,
): StageFacts[] {
  const { tasks, slo, policy } = bundle;
  const pathMs = longestPathMs(
    bundle,
    plan.stages.map(({ latencyMs }) => latencyMs),
  );
  return plan.stages.map(({ variant, pool, batch, latencyMs, replicas }, task): StageFacts => {
    const profile = tasks[task]?.variants[variant]?.profiles[pool];
    assert(profile != null, "a stage's variant has a profile for its pool");
    const { data } = profile.serviceTimes.decisionMs;
    return {
      batchMs: Float64Array.from(data).subarray(0, batch),
      shareMs: (slo.latencyMs * latencyMs) / pathMs,
      startMs: policy.activationMs,
      replicas,
    };
  });
}
