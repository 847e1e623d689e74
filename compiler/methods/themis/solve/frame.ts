/** From an application to the frame of a Themis bundle: everything its levels share. */
import type {
  LatencyByCores,
  ScaledTask,
  ScaledVariant,
  ThemisOptions,
} from "stratagem-runtime/internal/bundle/schema";
import { taskGraphOf } from "stratagem-runtime/internal/core/graph/task-graph";
import { taskEdgesOf } from "../../../graph/task-edges.ts";
import { type OrderedTask, orderedTasks, runsAlone } from "../../../graph/task-order.ts";
import { arrivalModelOf } from "../../../model/arrival-model.ts";
import { bundledCluster } from "../../../model/bundled-cluster.ts";
import type { ThemisFrame } from "../../../model/frames.ts";
import { mixedProfileFor } from "../../../model/mixed-sizes.ts";
import { type ModelFiles, modelOf } from "../../../model/model-files.ts";
import type {
  Application,
  ThemisPolicy,
  Variant,
  VariantProfile,
} from "../../../spec/application.ts";
import { isUsable, latencyByCores, pointQuantiles } from "./latency-by-cores.ts";
import { visitRates } from "./visit-rates.ts";

/** @param application one without mistakes, whose method is themis. */
export function themisFrame(
  application: Application<ThemisPolicy>,
  models: ModelFiles,
): ThemisFrame {
  const { name, slo, policy } = application;
  const { tasks, entryBranch } = orderedTasks(application);
  const shapes = tasks.map((ordered) => ({
    name: ordered.task.name,
    edges: taskEdgesOf(ordered, tasks, models),
    branch: ordered.task.branch,
  }));
  const rates = visitRates(taskGraphOf({ tasks: shapes, entryBranch }));
  return {
    application: name,
    method: "themis",
    slo,
    arrivals: arrivalModelOf(application),
    cluster: bundledCluster(application),
    tasks: shapes.map((shape, index): ScaledTask => {
      const own = { ...policy, maxBatch: isAlone(tasks[index]) ? 1 : policy.maxBatch };
      const runners = runnersOf(application, tasks[index]?.task.variants ?? []);
      return {
        ...shape,
        scaleFactor: rates[index] ?? 1,
        variants: runners.map(({ variant, profile, pool }): ScaledVariant => {
          const { file, hardware, sha256 } = profile;
          return {
            name: variant.name,
            accuracy: variant.accuracy,
            model: modelOf(models, variant),
            profile: { file, variant: profile.variant, hardware, sha256 },
            ...(pool === 0 ? {} : { pool }),
            latency: latencyOf(application, profile, own, pool),
          };
        }),
      };
    }),
    entryBranch,
    policy: optionsOf(policy),
  };
}

/** A variant in a pool that can run it. */
interface Runner {
  readonly variant: Variant;
  readonly profile: VariantProfile;
  /** Indices of both. */
  readonly position: number;
  readonly pool: number;
}

/** Variants of a task that can run, pool by pool. */
export function runnersOf({ cluster }: Application, variants: readonly Variant[]): Runner[] {
  return variants.flatMap((variant, position) =>
    cluster.pools.flatMap((one, pool): Runner[] => {
      const profile = mixedProfileFor(variant, one);
      return profile === null ? [] : [{ variant, profile, position, pool }];
    }),
  );
}

function isAlone(task: OrderedTask | undefined): boolean {
  return task !== undefined && runsAlone(task);
}

/** Most cores of an instance: it runs on one machine of its pool. */
export function mostCores(
  { cluster }: Application,
  { maxCores }: ThemisPolicy,
  pool: number,
): number {
  return Math.min(maxCores, cluster.pools[pool]?.cores ?? maxCores);
}

function latencyOf(
  application: Application,
  profile: VariantProfile,
  policy: ThemisPolicy,
  pool: number,
): LatencyByCores {
  const latency = latencyByCores(profile, policy.maxBatch, mostCores(application, policy, pool));
  if (!isUsable(latency)) throw new RangeError("the latencies of a variant can be used");
  // Bundles with a serving path are simulated with drawn times, as measurements will be.
  const quantiles =
    application.cluster.serving === undefined ? undefined : pointQuantiles(profile, latency);
  return quantiles === undefined ? latency : { ...latency, quantiles };
}

/** The paper's programmes support only the paper's queueing. */
function optionsOf({ method: _, scalerDelay: __, ...options }: ThemisPolicy): ThemisOptions {
  return options.solver === "paper" ? { ...options, queueing: "paper" } : options;
}
