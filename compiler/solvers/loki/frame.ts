/** From an application to the frame of a Loki bundle: everything its levels share. */
import type { LokiOptions, PipelineTask, PoolProfile } from "../../../runtime/bundle/schema.ts";
import { serviceTimesByBatch } from "../../model/service-time.ts";
import type {
  Application,
  LokiPolicy,
  Pool,
  Variant,
  VariantProfile,
} from "../../spec/application.ts";
import type { LokiFrame, ModelFiles } from "../solver.ts";
import { type FlatTask, flatTasks } from "./flat-tasks.ts";
import { leavesOf } from "./leaves.ts";

/** @param application one without mistakes, whose method is loki. */
export function lokiFrame(application: Application, models: ModelFiles): LokiFrame {
  const { name, slo, arrivals, cluster, policy } = application;
  if (policy.method !== "loki") throw new TypeError("an application of another method");
  const tasks = flatTasks(application.tasks);
  return {
    application: name,
    method: "loki",
    slo,
    arrivals:
      arrivals.process === "trace"
        ? { process: "trace", file: fileNameOf(arrivals.file), dispersion: 1 }
        : arrivals,
    cluster,
    tasks: tasks.map((task) => taskOf(task, tasks, cluster.pools, models)),
    leaves: leavesOf(tasks, policy).map(({ task, weight, shape, accuracies }) => ({
      task,
      weight,
      accuracyByPath: { dtype: "float64", shape, data: accuracies },
    })),
    policy: optionsOf(policy),
  };
}

function fileNameOf(path: string): string {
  return path.replace(/^.*[\\/]/, "");
}

function optionsOf(policy: LokiPolicy): LokiOptions {
  const { sloFraction, headroom, oneBatchPerVariant, solver, solveLimitMs } = policy;
  const { routing, drop, stagePolicy, modelLoadMs } = policy;
  return {
    sloFraction,
    headroom,
    oneBatchPerVariant,
    solver,
    solveLimitMs,
    routing,
    drop,
    stagePolicy,
    modelLoadMs,
  };
}

function taskOf(
  { task, parent, entryShare, edge, children }: FlatTask,
  tasks: readonly FlatTask[],
  pools: readonly Pool[],
  models: ModelFiles,
): PipelineTask {
  const modelOf = ({ model }: Variant) => (model === null ? null : (models.get(model) ?? null));
  const [firstModel] = task.variants.map(modelOf);
  return {
    name: task.name,
    parent,
    entryShare,
    feed: edge === null || firstModel == null ? null : feedOf(edge, firstModel.inputs),
    variants: task.variants.map((variant) => ({
      name: variant.name,
      accuracy: variant.accuracy,
      model: modelOf(variant),
      fanouts: children.map((child) => fanoutTo(tasks[child], variant)),
      profiles: pools.map((pool) => {
        const profile = profileFor(variant, pool);
        return profile === null ? null : poolProfileOf(profile);
      }),
    })),
  };
}

/** Mean queries that a query served by the variant sends to a task that follows. */
function fanoutTo(child: FlatTask | undefined, { fanout }: Variant): number {
  if (child === undefined || child.edge === null) throw new RangeError("a child has an edge");
  const perQuery = typeof fanout === "number" ? fanout : (fanout?.[child.edge.first] ?? 1);
  return perQuery * child.edge.share;
}

function feedOf(
  { inputs, count }: NonNullable<FlatTask["edge"]>,
  modelInputs: readonly { readonly name: string }[],
): PipelineTask["feed"] {
  return {
    inputs: modelInputs.map(({ name }) => ({ input: name, output: inputs?.[name] ?? name })),
    count,
  };
}

/** What was measured on the hardware of a pool; a pool of no stated hardware is that of the only profile. */
export function profileFor({ profiles }: Variant, { hardware }: Pool): VariantProfile | null {
  if (hardware === null) return profiles.length === 1 ? (profiles[0] ?? null) : null;
  return profiles.find((profile) => profile.hardware === hardware) ?? null;
}

function poolProfileOf({
  file,
  variant,
  hardware,
  sha256,
  rows,
  percentile,
}: VariantProfile): PoolProfile {
  const maxBatch = rows.at(-1)?.batch ?? 1;
  const hasQuantiles = rows.every((row) => row.quantiles !== null);
  const curve = (msOf: (row: (typeof rows)[number]) => number) => ({
    dtype: "float64" as const,
    shape: [1, maxBatch],
    data: serviceTimesByBatch(
      rows.map((row) => ({ batch: row.batch, ms: msOf(row) })),
      maxBatch,
    ),
  });
  return {
    profile: { file, variant, hardware, sha256 },
    batches: {
      dtype: "uint16",
      shape: [rows.length],
      data: Uint16Array.from(rows, ({ batch }) => batch),
    },
    latencyMs: {
      dtype: "float64",
      shape: [rows.length],
      data: Float64Array.from(rows, ({ latencyMs }) => latencyMs),
    },
    serviceTimes: {
      percentile: hasQuantiles ? 95 : percentile,
      decisionMs: curve(({ latencyMs }) => latencyMs),
      quantiles: hasQuantiles
        ? {
            p50Ms: curve(({ quantiles }) => quantiles?.p50 ?? Number.NaN),
            p95Ms: curve(({ quantiles }) => quantiles?.p95 ?? Number.NaN),
            p99Ms: curve(({ quantiles }) => quantiles?.p99 ?? Number.NaN),
            meanMs: curve(({ quantiles }) => quantiles?.mean ?? Number.NaN),
          }
        : null,
    },
  };
}
