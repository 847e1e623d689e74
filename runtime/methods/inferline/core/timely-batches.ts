/** Limits batch sizes while requests wait that can be in time. */
import type { InferlineBundle, InferlineLevel } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import { decisionSloMs } from "../../../core/decision-slo.ts";

type Frame = Pick<InferlineBundle, "tasks" | "cluster" | "slo">;

/**
 * Share of the SLO for ways whose batches must be smaller than planned; the rest is for waiting.
 */
const WAY_PART = 0.6;

/** A level's batches that leave time for the way from their task on. All by task. */
export interface TimelyBatches {
  readonly batches: readonly number[];
  /**
   * Time from the start of such a batch to the end of the longest way from there, without waiting.
   */
  readonly restMs: readonly number[];
  /** Time of the SLO that the longest way leaves for waiting. */
  readonly waitMs: number;
  /** Throughput of one replica with such batches. */
  readonly throughputQps: readonly number[];
  /** Times by batch size: that of b is at b − 1. */
  readonly batchMs: readonly Float64Array[];
}

/**
 * Returns the plan's batches, made smaller where a way takes longer than the SLO with them.
 *
 * A plan may have such batches, since under its own load hardly any is full; after a leap all are,
 * and no query in them is in time. So on ways that are too long the longest batch is reduced
 * repeatedly, until two fifths of the SLO are left for waiting.
 * @param pace of the workers, which shortens the SLO instead; the times are as profiled.
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

/**
 * Returns the task of the longest batch that may be shortened, the first on ties; −1 if none may.
 */
function longestOf(ms: readonly number[], mayShorten: (task: number) => boolean): number {
  let longest = -1;
  for (let task = 0; task < ms.length; task++) {
    if (mayShorten(task) && (longest < 0 || ms[task]! > ms[longest]!)) longest = task;
  }
  return longest;
}
