/**
 * `inspect BUNDLE [--level QPS]` for provisioning plans: tasks, their hardware, and why the plan is
 * not cheaper.
 */
import type { InferlineBundle, InferlineLevel, StageTask } from "../../../bundle/schema.ts";
import { longestPathMs } from "../../../core/graph/longest-path.ts";
import { levelAt } from "../../../core/level-choice.ts";
import { letterOf } from "../../../describe/letters.ts";
import { feasibleText, missedTexts } from "../../../describe/missed-limits.ts";
import { headroomCell, promiseByPace } from "../../../describe/paces.ts";
import { onDevice, startOrigin } from "../../../describe/pool-device.ts";
import { servingPathText } from "../../../describe/serving-path.ts";
import { taskTitle } from "../../../describe/task-title.ts";
import { counted, explainedTable, percent, short } from "../../../describe/text.ts";
import type { BundleFile, Description } from "../../method.ts";
import { hardwareLetters } from "./letters.ts";
import { inferlineMissed } from "./missed.ts";
import { hardwareOf, planView, trafficView } from "./plan-view.ts";
import {
  type CheaperHardware,
  type FewerReplicas,
  type LargerBatch,
  taskLimits,
} from "./task-limits.ts";

/** Describes the plan of a level, its traffic, and why it is not cheaper. */
export function describePlan(bundle: InferlineBundle, index: number): Description {
  const level = levelAt(bundle.levels, index);
  const json = {
    index,
    loadQps: level.loadQps,
    plan: planView(bundle, level),
    sample: trafficView(level.sample),
    limits: taskLimits(bundle, level),
  };
  return { text: stagePlanText(bundle, level), json };
}

export function inferlineSummary(
  bundle: InferlineBundle,
  { bytes, sha256, formatVersion }: BundleFile,
): string {
  const { slo, policy, cluster, provenance } = bundle;
  const violations =
    slo.maxViolationRate === null
      ? `, ${short(slo.percentile)}th percentile`
      : `, violations at most ${percent(slo.maxViolationRate)}`;
  const tolerance = policy.tolerance > 0 ? ` with a tolerance of ${short(policy.tolerance)}` : "";
  const margin = policy.margin === "auto" ? "auto" : percent(policy.margin);
  return [
    `${bundle.application}: inferline, format version ${formatVersion}, ${bytes} bytes`,
    `sha256 ${sha256}`,
    `compiled by ${provenance.compiler} from ${provenance.inputs.length} inputs`,
    `slo: ${short(slo.latencyMs)} ms${violations}`,
    servingPathText(bundle.cluster),
    ...cluster.pools.map(
      (pool) =>
        `pool ${pool.name}: ${counted(pool.workers, "worker")} of ${hardwareOf(pool)}` +
        `${onDevice(pool)}, ${short(pool.pricePerHour ?? 0)} an hour each`,
    ),
    `policy: refine ${policy.refine}, margin ${margin}, ` +
      `${counted(policy.traces, "sample trace")}, ` +
      `tuner ${policy.tuner}${tolerance}`,
    ...(policy.startFrom === undefined
      ? []
      : [`a replica comes up in ${short(policy.activationMs)} ms${startOrigin(policy)}`]),
    ...bundle.tasks.flatMap((task, index) => {
      return ["", taskTitle(bundle, task), hardwareTable(bundle, task, index)];
    }),
    "",
    levelTable(bundle),
  ].join("\n");
}

/** Returns one row for each pool that can run the task; a letter marks hardware in some plan. */
function hardwareTable(bundle: InferlineBundle, { variants }: StageTask, task: number): string {
  const letters = hardwareLetters(bundle);
  const { cluster } = bundle;
  const rows = cluster.pools.flatMap((pool, index) =>
    variants.flatMap(({ name, accuracy, profiles }) => {
      const profile = profiles[index];
      if (profile === null || profile === undefined) return [];
      return [
        [
          letterOf(letters, task, index),
          hardwareOf(pool),
          name,
          percent(accuracy),
          short(pool.pricePerHour ?? 0),
          Array.from(profile.batches.data).join(" "),
          Array.from(profile.latencyMs.data, short).join(" "),
        ],
      ];
    }),
  );
  return explainedTable([
    ["", "hardware", "variant", "accuracy", "per hour", "batches", "ms"],
    ...rows,
  ]);
}

/** Returns one row per level: its cost and its promises. */
export function levelTable(bundle: InferlineBundle): string {
  const { slo, levels } = bundle;
  return explainedTable([
    [
      "load qps",
      "replicas",
      "cost/h",
      "greedy",
      "proof",
      `p99 of ${short(slo.latencyMs)} ms`,
      "margin",
      "held-out met",
      "simulated p50",
      "p99",
      "violations",
      "headroom",
      "feasible",
    ],
    ...levels.map((level) => {
      const { loadQps, plan, sample, expected, solve } = level;
      return [
        short(loadQps),
        String(plan.stages.reduce((sum, { replicas }) => sum + replicas, 0)),
        short(plan.costPerHour),
        solve.greedyCostPerHour === null ? "-" : short(solve.greedyCostPerHour),
        proofText(solve),
        short(sample.estimate.p99Ms),
        percent(sample.margin),
        `${expected.heldOut.met} of ${expected.heldOut.traces}`,
        short(expected.latencyMsP50),
        short(expected.latencyMsP99),
        percent(expected.violationRate),
        headroomCell(expected),
        feasibleText(level.feasible, inferlineMissed(bundle, level)),
      ];
    }),
  ]);
}

function proofText({ status, provenGap }: InferlineLevel["solve"]): string {
  return status === "feasible" ? `gap ${percent(provenGap)}` : status;
}

/** Describes one level: its stages, its traffic, and why it is not cheaper. */
function stagePlanText(bundle: InferlineBundle, level: InferlineLevel): string {
  const { slo } = bundle;
  const { loadQps, feasible, plan, sample, solve } = level;
  const view = planView(bundle, level);
  const letters = hardwareLetters(bundle);
  const pathMs = longestPathMs(
    bundle,
    plan.stages.map(({ latencyMs }) => latencyMs),
  );
  const { traces, met } = level.expected.heldOut;
  return [
    `level ${short(loadQps)} qps: ${short(plan.costPerHour)} an hour, ${solve.method}, ` +
      proofText(solve),
    ...(feasible ? [] : [beyondText(bundle, level)]),
    `p99 ${short(sample.estimate.p99Ms)} ms of ${short(slo.latencyMs)} on the sample, ` +
      `margin ${percent(sample.margin)}; ${met} of ${traces} held-out traces meet the SLO`,
    costText(level),
    `longest path with whole batches ${short(pathMs)} ms`,
    "",
    explainedTable([
      [
        "",
        "task",
        "hardware",
        "variant",
        "batch",
        "replicas",
        "ms",
        "qps of one",
        "per request",
        "load",
      ],
      ...view.stages.map((stage, task) => [
        letterOf(letters, task, plan.stages[task]?.pool ?? -1),
        stage.task,
        stage.hardware,
        stage.variant,
        String(stage.batch),
        String(stage.replicas),
        short(stage.latencyMs),
        short(stage.throughputQps),
        short(stage.scaleFactor),
        `${percent(stage.provisioningRatio)} of ${short(stage.throughputQps * stage.replicas)} qps`,
      ]),
    ]),
    "per request: queries of the task; load: of what its replicas serve with whole batches",
    "",
    `envelope of the sample, ${sample.requests} requests in ` +
      `${short(sample.durationMs / 1000)} s: ` +
      `mean ${short(sample.meanQps)} qps, peak ${short(sample.peakQps)} qps in 5 s`,
    explainedTable([
      ["window ms", "requests", "qps"],
      ...trafficView(sample).envelope.map(({ windowMs, requests, qps }) => [
        short(windowMs),
        String(requests),
        short(qps),
      ]),
    ]),
    "",
    "why it is not cheaper, task by task:",
    limitTable(bundle, level),
    ...promiseByPace(level.expected),
  ].join("\n");
}

function limitTable(bundle: InferlineBundle, level: InferlineLevel): string {
  const limitMs = bundle.slo.latencyMs * (1 - level.sample.margin);
  return explainedTable([
    ["task", "a replica less", "a larger batch", "cheaper hardware"],
    ...taskLimits(bundle, level).map(({ task, oneReplicaLess, nextBatch, cheaperHardware }) => [
      task,
      replicaText(oneReplicaLess),
      batchText(nextBatch, limitMs),
      cheaperHardware.length === 0
        ? "none"
        : cheaperHardware.map((one) => hardwareText(one, limitMs)).join("; "),
    ]),
  ]);
}

function replicaText(less: FewerReplicas | null): string {
  if (less === null) return "none left";
  const load = `load ${percent(less.provisioningRatio)} of the rest`;
  return less.binds === "throughput" ? `${load}: too much` : `${load}: queues too long`;
}

function batchText(larger: LargerBatch | null, limitMs: number): string {
  if (larger === null) return "none profiled";
  const path = `path ${short(larger.pathMs)} of ${short(limitMs)} ms`;
  return larger.binds === "latency"
    ? `${larger.batch}: too slow, ${path}`
    : `${larger.batch}: fits, ${path}, costs the same`;
}

function hardwareText(cheaper: CheaperHardware, limitMs: number): string {
  const { hardware, pathMs, leastReplicas, leastCostPerHour, binds } = cheaper;
  if (binds === "latency") {
    return `${hardware}: too slow, path ${short(pathMs)} of ${short(limitMs)} ms`;
  }
  const least = `${hardware}: ${counted(leastReplicas, "replica")} at least`;
  if (binds === "workers") return `${least}, more than it has`;
  return binds === "cost"
    ? `${least}, ${short(leastCostPerHour)} an hour`
    : `${least}, queues not counted`;
}

/** Describes the limits that the load misses, and the load of the plan. */
function beyondText(bundle: InferlineBundle, level: InferlineLevel): string {
  return (
    `not feasible: ${missedTexts(inferlineMissed(bundle, level))}; no plan of the pools ` +
    "meets the " +
    `SLO at this load: this one is for ${short(level.capacityQps)} qps`
  );
}

/** Describes the cost of the plan, and the mean cost while the tuner follows the traffic. */
function costText({ plan, expected }: InferlineLevel): string {
  if (expected.costPerHour === plan.costPerHour) {
    return `cost ${short(plan.costPerHour)} an hour, as planned and in the mean of the simulation`;
  }
  return (
    `cost ${short(plan.costPerHour)} an hour as planned, ${short(expected.costPerHour)} in the ` +
    "mean of the simulation, where the tuner adds and removes replicas"
  );
}
