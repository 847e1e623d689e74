/** From an application to the frame of an InferLine bundle: everything its levels share. */
import type { InferlineOptions, StageTask } from "stratagem-runtime/internal/bundle/schema";
import { taskEdgesOf } from "../../../graph/task-edges.ts";
import { type OrderedTask, orderedTasks, runsAlone } from "../../../graph/task-order.ts";
import { arrivalModelOf } from "../../../model/arrival-model.ts";
import { bundledCluster } from "../../../model/bundled-cluster.ts";
import type { InferlineFrame } from "../../../model/frames.ts";
import { mixedProfileFor } from "../../../model/mixed-sizes.ts";
import { type ModelFiles, modelOf } from "../../../model/model-files.ts";
import { aloneOf, poolProfileOf } from "../../../model/pool-profile.ts";
import { nextMeasuredTimes, serviceTimesByBatch } from "../../../model/service-time.ts";
import type { Application, InferlinePolicy } from "../../../spec/application.ts";

/** @param application one without mistakes, whose method is inferline. */
export function inferlineFrame(
  application: Application<InferlinePolicy>,
  models: ModelFiles,
): InferlineFrame {
  const { name, slo, arrivals, policy } = application;
  const { tasks, entryBranch } = orderedTasks(application);
  return {
    application: name,
    method: "inferline",
    slo,
    arrivals: arrivalModelOf(application),
    cluster: bundledCluster(application),
    tasks: tasks.map((task) => taskOf(task, tasks, { application, policy, models })),
    entryBranch,
    policy: optionsOf(application),
    recorded: arrivals.process === "trace" ? arrivals.trace : null,
  };
}

function optionsOf({ policy }: Application<InferlinePolicy>): InferlineOptions {
  const { refine, downgrade, margin, traces, sampleDurationMs, sampleSeed, solveLimitMs } = policy;
  const { betweenBatches, tuner, tolerance, activationMs, startFrom, sampleRequests } = policy;
  return {
    refine,
    ...(downgrade === "any" ? { downgrade } : {}),
    margin,
    traces,
    sampleDurationMs,
    ...(sampleRequests === undefined ? {} : { sampleRequests }),
    sampleSeed,
    solveLimitMs,
    betweenBatches,
    tuner,
    tolerance,
    activationMs,
    ...(startFrom === undefined ? {} : { startFrom }),
  };
}

interface Context {
  readonly application: Application;
  readonly policy: InferlinePolicy;
  readonly models: ModelFiles;
}

function taskOf(
  ordered: OrderedTask,
  tasks: readonly OrderedTask[],
  { application, policy, models }: Context,
): StageTask {
  const { task } = ordered;
  const timesByBatch = policy.betweenBatches === "next" ? nextMeasuredTimes : serviceTimesByBatch;
  return {
    name: task.name,
    edges: taskEdgesOf(ordered, tasks, models),
    branch: task.branch,
    variants: task.variants.map((variant) => ({
      name: variant.name,
      accuracy: variant.accuracy,
      model: modelOf(models, variant),
      profiles: application.cluster.pools.map((pool) => {
        const profile = mixedProfileFor(variant, pool);
        if (profile === null) return null;
        return poolProfileOf(runsAlone(ordered) ? aloneOf(profile) : profile, timesByBatch);
      }),
    })),
  };
}
