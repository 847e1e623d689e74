/** `inspect BUNDLE [--level QPS]` of provisioning plans: stages, what each runs on, and why it is not cheaper. */
import type { InferlineBundle, InferlineLevel, StageTask } from "../../../bundle/schema.ts";
import { longestPathMs } from "../../../core/graph/longest-path.ts";
import { levelAt } from "../../../core/level-choice.ts";
import { taskTitle } from "../../../tell/task-title.ts";
import { alignColumns, percent, short } from "../../../tell/text.ts";
import type { BundleFile, Told } from "../../method.ts";
import { hardwareOf, planView, trafficView } from "./plan-view.ts";
import {
  type CheaperHardware,
  type FewerReplicas,
  type LargerBatch,
  taskLimits,
} from "./task-limits.ts";

/** The plan of a level, the traffic it is for, and what keeps it from being cheaper. */
export function planTold(bundle: InferlineBundle, index: number): Told {
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
  const margin = policy.margin === "auto" ? "auto" : percent(policy.margin);
  return [
    `${bundle.application}: inferline, format version ${formatVersion}, ${bytes} bytes`,
    `sha256 ${sha256}`,
    `compiled by ${provenance.compiler} from ${provenance.inputs.length} inputs`,
    `slo: ${short(slo.latencyMs)} ms${violations}`,
    ...cluster.pools.map(
      (pool) =>
        `pool ${pool.name}: ${pool.workers} workers of ${hardwareOf(pool)}, ${short(pool.pricePerHour ?? 0)} an hour each`,
    ),
    `policy: refine ${policy.refine}, margin ${margin}, ${counted(policy.traces, "sample trace")}, tuner ${policy.tuner}${policy.tolerance > 0 ? ` with a tolerance of ${short(policy.tolerance)}` : ""}`,
    ...bundle.tasks.flatMap((task) => ["", taskTitle(bundle, task), hardwareTable(bundle, task)]),
    "",
    provisioningTable(bundle),
  ].join("\n");
}

/** One row for each pool that can run the stage. */
function hardwareTable({ cluster }: InferlineBundle, { variants }: StageTask): string {
  const rows = cluster.pools.flatMap((pool, index) =>
    variants.flatMap(({ name, accuracy, profiles }) => {
      const profile = profiles[index];
      if (profile === null || profile === undefined) return [];
      return [
        [
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
  return alignColumns([["hardware", "variant", "accuracy", "per hour", "batches", "ms"], ...rows]);
}

/** One row per level: what it costs and what it gives. */
export function provisioningTable({ slo, levels }: InferlineBundle): string {
  return alignColumns([
    [
      "load qps",
      "replicas",
      "cost/h",
      "greedy",
      "proof",
      `p99 of ${short(slo.latencyMs)} ms`,
      "margin",
      "held-out met",
      "simulated p99",
      "violations",
      "feasible",
    ],
    ...levels.map(({ loadQps, plan, sample, expected, solve, feasible }) => [
      short(loadQps),
      String(plan.stages.reduce((sum, { replicas }) => sum + replicas, 0)),
      short(plan.costPerHour),
      solve.greedyCostPerHour === null ? "-" : short(solve.greedyCostPerHour),
      proofText(solve),
      short(sample.estimate.p99Ms),
      percent(sample.margin),
      `${expected.heldOut.met} of ${expected.heldOut.traces}`,
      short(expected.latencyMsP99),
      percent(expected.violationRate),
      feasible ? "yes" : "no",
    ]),
  ]);
}

function proofText({ status, provenGap }: InferlineLevel["solve"]): string {
  return status === "feasible" ? `gap ${percent(provenGap)}` : status;
}

/** One level: what runs where, the traffic it is for, and what keeps it from being cheaper. */
function stagePlanText(bundle: InferlineBundle, level: InferlineLevel): string {
  const { slo } = bundle;
  const { loadQps, capacityQps, feasible, plan, sample, solve } = level;
  const view = planView(bundle, level);
  const pathMs = longestPathMs(
    bundle,
    plan.stages.map(({ latencyMs }) => latencyMs),
  );
  const { traces, met } = level.expected.heldOut;
  return [
    `level ${short(loadQps)} qps: ${short(plan.costPerHour)} an hour, ${solve.method}, ${proofText(solve)}`,
    ...(feasible
      ? []
      : [
          `no plan of the pools meets the SLO at this load: this one is for ${short(capacityQps)} qps`,
        ]),
    `p99 ${short(sample.estimate.p99Ms)} ms of ${short(slo.latencyMs)} on the sample, margin ${percent(sample.margin)}; ${met} of ${traces} held-out traces meet the SLO`,
    `longest path with whole batches ${short(pathMs)} ms`,
    "",
    alignColumns([
      ["stage", "hardware", "variant", "batch", "replicas", "ms", "qps of one", "s", "ρ"],
      ...view.stages.map((stage) => [
        stage.task,
        stage.hardware,
        stage.variant,
        String(stage.batch),
        String(stage.replicas),
        short(stage.latencyMs),
        short(stage.throughputQps),
        short(stage.scaleFactor),
        short(stage.provisioningRatio),
      ]),
    ]),
    "s: queries per request; ρ: load over the throughput of the replicas",
    "",
    `envelope of the sample, ${sample.requests} requests in ${short(sample.durationMs / 1000)} s: mean ${short(sample.meanQps)} qps, peak ${short(sample.peakQps)} qps in 5 s`,
    alignColumns([
      ["window ms", "requests", "qps"],
      ...trafficView(sample).envelope.map(({ windowMs, requests, qps }) => [
        short(windowMs),
        String(requests),
        short(qps),
      ]),
    ]),
    "",
    "why it is not cheaper:",
    limitTable(bundle, level),
  ].join("\n");
}

function limitTable(bundle: InferlineBundle, level: InferlineLevel): string {
  const limitMs = bundle.slo.latencyMs * (1 - level.sample.margin);
  return alignColumns([
    ["stage", "a replica less", "a larger batch", "cheaper hardware"],
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
  const ratio = `ρ ${short(less.provisioningRatio)}`;
  return less.binds === "throughput" ? `${ratio}: overloaded` : `${ratio}: too long queues`;
}

function batchText(larger: LargerBatch | null, limitMs: number): string {
  if (larger === null) return "none profiled";
  const path = `path ${short(larger.pathMs)} of ${short(limitMs)} ms`;
  return `${larger.batch}: ${larger.binds === "latency" ? "" : "fits, "}${path}`;
}

function hardwareText(cheaper: CheaperHardware, limitMs: number): string {
  const { hardware, pathMs, leastReplicas, leastCostPerHour, binds } = cheaper;
  if (binds === "latency") return `${hardware}: path ${short(pathMs)} of ${short(limitMs)} ms`;
  const least = `${hardware}: ${counted(leastReplicas, "replica")} at least`;
  if (binds === "workers") return `${least}, more than it has`;
  return binds === "cost"
    ? `${least}, ${short(leastCostPerHour)} an hour`
    : `${least}, more for its queues`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
