/** From an application to the frame of a Themis bundle: everything its levels share. */
import type {
  ArrivalModel,
  LatencyByCores,
  ScaledTask,
  ThemisOptions,
} from "stratagem-runtime/internal/bundle/schema";
import { taskGraphOf } from "stratagem-runtime/internal/core/graph/task-graph";
import { taskEdgesOf } from "../../../graph/task-edges.ts";
import { type OrderedTask, orderedTasks, runsAlone } from "../../../graph/task-order.ts";
import { bundledCluster } from "../../../model/bundled-cluster.ts";
import type { ThemisFrame } from "../../../model/frames.ts";
import { type ModelFiles, modelOf } from "../../../model/model-files.ts";
import type {
  Application,
  ThemisPolicy,
  Variant,
  VariantProfile,
} from "../../../spec/application.ts";
import { profileFor } from "../../../spec/pool-profiles.ts";
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
    arrivals: arrivalsOf(application),
    cluster: bundledCluster(application),
    tasks: shapes.map((shape, index): ScaledTask => {
      const { variant, profile } = onlyVariant(application, tasks[index]?.task.variants ?? []);
      const { file, hardware, sha256 } = profile;
      return {
        ...shape,
        scaleFactor: rates[index] ?? 1,
        variants: [
          {
            name: variant.name,
            accuracy: variant.accuracy,
            model: modelOf(models, variant),
            profile: { file, variant: profile.variant, hardware, sha256 },
            latency: latencyOf(application, profile, {
              ...policy,
              maxBatch: isAlone(tasks[index]) ? 1 : policy.maxBatch,
            }),
          },
        ],
      };
    }),
    entryBranch,
    policy: optionsOf(policy),
  };
}

function arrivalsOf({ arrivals }: Application): ArrivalModel {
  if (arrivals.process !== "trace") return arrivals;
  // Levels are planned for random arrivals at their loads; the trace says what loads there are.
  return { process: "trace", file: arrivals.file.replace(/^.*[\\/]/, ""), dispersion: 1 };
}

/** Whatever may run in the only pool. */
function onlyVariant(
  { cluster }: Application,
  variants: readonly Variant[],
): { readonly variant: Variant; readonly profile: VariantProfile } {
  const [pool] = cluster.pools;
  for (const variant of variants) {
    const profile = pool === undefined ? null : profileFor(variant, pool);
    if (profile !== null) return { variant, profile };
  }
  throw new RangeError("a task has a variant for the pool");
}

function isAlone(task: OrderedTask | undefined): boolean {
  return task !== undefined && runsAlone(task);
}

/** Most cores of an instance: it runs on one machine. */
export function mostCores({ cluster }: Application, { maxCores }: ThemisPolicy): number {
  return Math.min(maxCores, cluster.pools[0]?.cores ?? maxCores);
}

function latencyOf(
  application: Application,
  profile: VariantProfile,
  policy: ThemisPolicy,
): LatencyByCores {
  const latency = latencyByCores(profile, policy.maxBatch, mostCores(application, policy));
  if (!isUsable(latency)) throw new RangeError("the latencies of a variant can be used");
  // Bundles that say what serving takes are simulated as they will be measured.
  const quantiles =
    application.cluster.serving === undefined ? undefined : pointQuantiles(profile, latency);
  return quantiles === undefined ? latency : { ...latency, quantiles };
}

/** The paper's programmes know the paper's queueing only. */
function optionsOf({ method: _, scalerDelay: __, ...options }: ThemisPolicy): ThemisOptions {
  return options.solver === "paper" ? { ...options, queueing: "paper" } : options;
}
