/** Says how large batches may be while requests wait that can be in time. */
import type { InferlineBundle, InferlineLevel } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import { decisionSloMs } from "../../../core/decision-slo.ts";

type Frame = Pick<InferlineBundle, "tasks" | "cluster" | "slo">;

/** What ways whose batches have to be smaller than planned take of the SLO; the rest is to wait. */
const WAY_PART = 0.6;

/** A level's batches that leave time for the way from their task on. All by task. */
export interface TimelyBatches {
  readonly batches: readonly number[];
  /** From the start of such a batch to the end of the longest way from there, if nothing waits. */
  readonly restMs: readonly number[];
  /** What the longest way leaves of the SLO. */
  readonly waitMs: number;
  /** Of one replica with such batches. */
  readonly throughputQps: readonly number[];
  /** What a batch of b takes lies at b − 1. */
  readonly batchMs: readonly Float64Array[];
}

/**
 * The plan's batches, and smaller ones where a way takes longer than the SLO with those.
 *
 * A plan may have such batches, since under its own load hardly any is whole; after a leap all are,
 * and nobody in them is in time. So on ways that are too long the longest batch gets smaller, again
 * and again, until two fifths of the SLO are left to wait.
 * @param pace of the workers, as if they had so much less time; the times are as profiled.
 */
export function timelyBatches(
  bundle: Frame,
  { plan }: Pick<InferlineLevel, "plan">,
  pace = 1,
): TimelyBatches {
  const batches = plan.stages.map(({ batch }) => batch);
  const batchMs = plan.stages.map(({ variant, pool }, task) => {
    const profile = bundle.tasks[task]!.variants[variant]!.profiles[pool];
    assert(profile != null, "a stage runs where its variant can");
    return profile.serviceTimes.decisionMs.data as Float64Array;
  });
  const ms = batches.map((batch, task) => batchMs[task]![batch - 1]!);
  const sloMs = decisionSloMs(bundle.cluster, bundle.slo.latencyMs) / pace;
  const isTooLong = waysOf(bundle, ms).wayMs.map((wayMs) => wayMs > sloMs);
  for (;;) {
    const { restMs, wayMs } = waysOf(bundle, ms);
    const longest = longestOf(
      ms,
      (task) =>
        isTooLong[task]! && wayMs[task]! > WAY_PART * sloMs && ms[task]! > batchMs[task]![0]!,
    );
    if (longest < 0) {
      const throughputQps = ms.map((one, task) => (1000 * batches[task]!) / one);
      const waitMs = Math.max(0, sloMs - Math.max(...wayMs));
      return { batches, restMs, waitMs, throughputQps, batchMs };
    }
    const before = ms[longest]!;
    while (ms[longest]! >= before) ms[longest] = batchMs[longest]![--batches[longest]! - 1]!;
  }
}

/** The longest way from the start of each task, and the longest through it. */
function waysOf({ tasks, cluster }: Frame, ms: readonly number[]) {
  const hopMs = cluster.communicationLatencyMs;
  const startMs = tasks.map(() => 0);
  for (const [task, { edges }] of tasks.entries()) {
    for (const { parent } of edges) {
      const readyMs = parent === null ? 0 : startMs[parent]! + ms[parent]!;
      startMs[task] = Math.max(startMs[task]!, hopMs + readyMs);
    }
  }
  const restMs = [...ms];
  const afterMs = tasks.map(() => 0);
  for (let task = tasks.length - 1; task >= 0; task--) {
    restMs[task]! += afterMs[task]!;
    for (const { parent } of tasks[task]!.edges) {
      if (parent !== null) afterMs[parent] = Math.max(afterMs[parent]!, hopMs + restMs[task]!);
    }
  }
  return { restMs, wayMs: restMs.map((rest, task) => startMs[task]! + rest) };
}

/** The task of the longest batch of those that may be shorter, the first; −1 where none may. */
function longestOf(ms: readonly number[], mayShorten: (task: number) => boolean): number {
  let longest = -1;
  for (let task = 0; task < ms.length; task++) {
    if (mayShorten(task) && (longest < 0 || ms[task]! > ms[longest]!)) longest = task;
  }
  return longest;
}
