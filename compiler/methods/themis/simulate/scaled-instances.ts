/** Instances as autoscalers want them: with fixed cores and batches, one scaler for each task. */
import type {
  ScaledStage,
  ScalePlan,
  ThemisBundle,
} from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { longestPathMs } from "stratagem-runtime/internal/core/graph/longest-path";
import { starts } from "stratagem-runtime/internal/core/graph/pipeline-shape";
import type { FleetController } from "stratagem-runtime/internal/methods/themis/core/controller";
import type { StageFacts, StageScaler } from "../../../simulate/graph/scalers/scaler.ts";
import type { StageWatch } from "../../../simulate/graph/scalers/stage-watch.ts";

/**
 * A controller that asks an autoscaler for each task. Instances are at least 1, and together they
 * have at most the cores of their pool: first come, first served.
 */
export class ScaledInstances implements FleetController {
  readonly instances: Uint32Array;
  readonly cores: Uint32Array;
  readonly startCores: Uint32Array;
  readonly batch: Uint32Array;
  readonly level = 0;
  readonly goal = 0;
  readonly resizes = 0;
  readonly raises = 0;
  readonly burstCount = 0;
  readonly settledCount = 0;
  readonly #scalers: readonly StageScaler[];
  /** Per task: the variant of its plan, among those of all tasks. */
  readonly #variants: readonly number[];
  readonly #watch: StageWatch;
  /** Pool of each variant; cores of each pool. */
  readonly #pools: readonly number[];
  readonly #coresByPool: readonly number[];

  /**
   * @param plan whose variants, cores and batches are fixed, and whose instances there are at
   * first.
   */
  constructor(
    { tasks, cluster }: Pick<ThemisBundle, "tasks" | "cluster">,
    { stages }: Pick<ScalePlan, "stages">,
    scalers: readonly StageScaler[],
    watch: StageWatch,
  ) {
    assert(scalers.length === stages.length, "every stage has an autoscaler");
    const start = starts(tasks.map(({ variants }) => variants.length));
    this.#variants = stages.map(({ variant = 0 }, task) => (start[task] ?? 0) + variant);
    const byVariant = (of: (stage: ScaledStage) => number): Uint32Array => {
      const all = new Uint32Array(start.at(-1) ?? 0);
      for (const [task, stage] of stages.entries()) all[this.#variants[task] ?? 0] = of(stage);
      return all;
    };
    this.instances = byVariant(({ instances }) => instances);
    this.cores = byVariant(({ cores }) => cores);
    this.startCores = this.cores;
    this.batch = byVariant(({ batch }) => batch);
    this.#scalers = scalers;
    this.#watch = watch;
    this.#pools = tasks.flatMap(({ variants }) => variants.map(({ pool = 0 }) => pool));
    this.#coresByPool = cluster.pools.map(({ workers, cores }) => workers * (cores ?? 1));
  }

  tick(nowMs: number): boolean {
    let isChanged = false;
    for (const [task, scaler] of this.#scalers.entries()) {
      const variant = this.#variants[task] ?? 0;
      const before = this.instances[variant] ?? 1;
      const wanted = scaler.decide(this.#watch.state(task, before, nowMs));
      assert(Number.isInteger(wanted), "an autoscaler wants an integer number of instances");
      const target = Math.min(Math.max(1, wanted), this.#mostOf(variant));
      this.instances[variant] = target;
      isChanged ||= target !== before;
    }
    return isChanged;
  }

  review(): boolean {
    return false;
  }

  lose(): void {}

  /** Instances that fit beside those of the other tasks in the pool. */
  #mostOf(variant: number): number {
    const pool = this.#pools[variant] ?? 0;
    let left = this.#coresByPool[pool] ?? 0;
    for (const [other, cores] of this.cores.entries()) {
      if (other === variant || this.#pools[other] !== pool) continue;
      left -= cores * (this.instances[other] ?? 0);
    }
    return Math.max(1, Math.floor(left / (this.cores[variant] ?? 1)));
  }
}

/** Facts for autoscalers, per task. */
export function instanceFactsOf(
  bundle: ThemisBundle,
  { stages }: Pick<ScalePlan, "stages">,
): StageFacts[] {
  const { tasks, slo, policy } = bundle;
  const batchMs = stages.map(({ batch, cores, variant = 0 }, task): Float64Array => {
    const table = tasks[task]?.variants[variant]?.latency.ms;
    assert(table !== undefined, "a task has a model");
    const first = (cores - 1) * (table.shape[1] ?? 0);
    return Float64Array.from(table.data).subarray(first, first + batch);
  });
  const wholeMs = batchMs.map((ms) => ms.at(-1) ?? Number.NaN);
  const pathMs = longestPathMs(bundle, wholeMs);
  return stages.map(
    ({ instances }, task): StageFacts => ({
      batchMs: batchMs[task] ?? new Float64Array(0),
      shareMs: (slo.latencyMs * (wholeMs[task] ?? 0)) / pathMs,
      startMs: policy.coldStartMs,
      replicas: instances,
    }),
  );
}
