/** From an application to the frame of a Loki bundle: everything its levels share. */
import type { LokiOptions, PipelineTask } from "stratagem-runtime/internal/bundle/schema";
import { type FlatTask, flatTasks } from "../../../graph/flat-tasks.ts";
import { feedOf } from "../../../graph/task-edges.ts";
import { arrivalModelOf } from "../../../model/arrival-model.ts";
import { bundledCluster } from "../../../model/bundled-cluster.ts";
import type { LokiFrame } from "../../../model/frames.ts";
import { mixedProfileFor } from "../../../model/mixed-sizes.ts";
import { type ModelFiles, modelOf } from "../../../model/model-files.ts";
import { poolProfileOf } from "../../../model/pool-profile.ts";
import { serviceTimesByBatch } from "../../../model/service-time.ts";
import type { Application, LokiPolicy, Pool, Variant } from "../../../spec/application.ts";
import { leavesOf } from "./leaves.ts";

/** @param application one without mistakes, whose method is loki. */
export function lokiFrame(application: Application<LokiPolicy>, models: ModelFiles): LokiFrame {
  const { name, slo, policy } = application;
  const tasks = flatTasks(application.tasks);
  return {
    application: name,
    method: "loki",
    slo,
    arrivals: arrivalModelOf(application),
    cluster: bundledCluster(application),
    tasks: tasks.map((task) => taskOf(task, tasks, application.cluster.pools, models)),
    leaves: leavesOf(tasks, policy).map(({ task, weight, shape, accuracies }) => ({
      task,
      weight,
      accuracyByPath: accuracies && { dtype: "float64", shape, data: accuracies },
    })),
    policy: optionsOf(policy),
  };
}

function optionsOf(policy: LokiPolicy): LokiOptions {
  const { sloFraction, headroom, oneBatchPerVariant, solver, solveLimitMs } = policy;
  const { routing, drop, stagePolicy, modelLoadMs, startFrom } = policy;
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
    ...(startFrom === undefined ? {} : { startFrom }),
  };
}

function taskOf(
  { task, parent, entryShare, edge, children }: FlatTask,
  tasks: readonly FlatTask[],
  pools: readonly Pool[],
  models: ModelFiles,
): PipelineTask {
  return {
    name: task.name,
    parent,
    entryShare,
    feed: edge === null ? null : feedOf(edge, tasks[parent ?? -1]?.task, task, models),
    variants: task.variants.map((variant) => ({
      name: variant.name,
      accuracy: variant.accuracy,
      model: modelOf(models, variant),
      fanouts: children.map((child) => fanoutTo(tasks[child], variant)),
      profiles: pools.map((pool) => {
        const profile = mixedProfileFor(variant, pool);
        return profile === null ? null : poolProfileOf(profile, serviceTimesByBatch);
      }),
    })),
  };
}

/** Mean queries that a query served by the variant sends to a following task. */
function fanoutTo(child: FlatTask | undefined, { fanout }: Variant): number {
  if (child === undefined || child.edge === null) throw new RangeError("child without an edge");
  const perQuery = typeof fanout === "number" ? fanout : (fanout?.[child.edge.first] ?? 1);
  return perQuery * child.edge.share;
}
