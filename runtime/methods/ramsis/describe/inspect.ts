/** `inspect BUNDLE` for tables: purpose, variants, and the promises of each level. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { letterAt, positionsOf } from "../../../describe/letters.ts";
import { feasibleText } from "../../../describe/missed-limits.ts";
import { headroomCell, paceLevelLines } from "../../../describe/paces.ts";
import { onDevice } from "../../../describe/pool-device.ts";
import { servingPathText } from "../../../describe/serving-path.ts";
import {
  counted,
  explainedTable,
  percent,
  promisedViolations,
  short,
} from "../../../describe/text.ts";
import type { BundleFile } from "../../method.ts";
import { classViews } from "./class-level-view.ts";
import { ramsisMissed } from "./missed.ts";
import { serviceMsOf } from "./service-ms.ts";

export function ramsisSummary(bundle: RamsisBundle, file: BundleFile): string {
  const { slo, policy, cluster, provenance, decisionSpace, tasks } = bundle;
  const violations =
    slo.maxViolationRate === null ? "" : `, violations at most ${percent(slo.maxViolationRate)}`;
  const steps = decisionSpace.slackMs.data.length - 1;
  return [
    `${bundle.application}: ${bundle.method}, format version ${file.formatVersion}, ` +
      `${file.bytes} bytes`,
    `sha256 ${file.sha256}`,
    `compiled by ${provenance.compiler} from ${provenance.inputs.length} inputs`,
    ...sloLines(bundle, violations),
    servingPathText(cluster),
    ...cluster.pools.map((pool) => {
      return `pool ${pool.name}: ${counted(pool.workers, "worker")}${onDevice(pool)}`;
    }),
    `policy: ${policy.objective}, ${steps} slack steps, ${policy.batching} batching, ` +
      `${policy.maxQueue} queued at most, ${policy.balancer}`,
    ...tasks.flatMap((task) => ["", `task ${task.name}`, variantTable(task)]),
    "",
    levelTable(bundle),
    ...paceLevelLines(bundle),
    ...kindTables(bundle).flatMap((table) => ["", table]),
  ].join("\n");
}

/** Returns one row per variant, with its letter in maps and reports. */
function variantTable({ variants, serviceTimes }: RamsisBundle["tasks"][number]): string {
  const positions = positionsOf(variants);
  return explainedTable([
    ["", "variant", "accuracy", "batch 1 ms", "dominated"],
    ...variants.map(({ name, accuracy, dominated }, variant) => [
      letterAt(positions[variant] ?? 0),
      name,
      percent(accuracy),
      short(serviceMsOf(serviceTimes.decisionMs, variant, 1)),
      dominated ? "yes" : "no",
    ]),
  ]);
}

function sloLines({ slo, policy }: RamsisBundle, violations: string): string[] {
  const { classes, p50Ms, p95Ms } = slo;
  const targets = [
    ...(p50Ms === undefined ? [] : [`, p50 at most ${short(p50Ms)} ms`]),
    ...(p95Ms === undefined ? [] : [`, p95 at most ${short(p95Ms)} ms`]),
  ].join("");
  const limits = `${violations}${targets}`;
  if (classes === undefined) return [`slo: ${short(slo.latencyMs)} ms${limits}`];
  const each = classes.map(
    ({ name, latencyMs, share }) => `${name} ${short(latencyMs)} ms (${percent(share)})`,
  );
  const how = {
    auto: "one queue or workers of their own, by level",
    shared: "one queue",
    separate: "workers of their own",
  }[policy.classes ?? "shared"];
  return [`slo by class: ${each.join(", ")}${limits}; ${how}`];
}

/**
 * Returns one row per level and class, or bucket: the promises for it; for a class also its SLO,
 * and its own workers if any. Empty without classes and buckets.
 */
export function kindTables(bundle: RamsisBundle): string[] {
  const { slo, buckets, levels } = bundle;
  if (slo.classes === undefined && buckets === undefined) return [];
  const ofClass = (...cells: string[]): string[] => (buckets === undefined ? cells : []);
  const rows = levels.flatMap((level) =>
    classViews(bundle, level).map(({ name, latencyMs, share, workers, expected }) => [
      short(level.loadQps),
      name,
      ...ofClass(short(latencyMs)),
      percent(share),
      ...ofClass(workers === null ? "one queue" : String(workers)),
      percent(expected?.accuracyPerSatisfied ?? null),
      percent(expected?.accuracyPerQuery ?? null),
      percent(expected?.violationRate ?? null),
    ]),
  );
  const kind = buckets === undefined ? "class" : "bucket";
  const heads = ["load qps", kind, ...ofClass("slo ms"), "share", ...ofClass("workers")];
  const promised = ["accuracy/satisfied", "accuracy/query", "violations ≤"];
  return [explainedTable([[...heads, ...promised], ...rows])];
}

/** Returns median and 99th percentile; a dash for an older bundle that does not state them. */
function latencyCells({ latencyMs }: RamsisBundle["levels"][number]["expected"]): string[] {
  if (latencyMs === undefined) return ["-", "-"];
  return [latencyMs.p50, latencyMs.p99].map((ms) => ms.toFixed(1));
}

/** Returns one row per level: its load and its promises. */
export function levelTable(bundle: RamsisBundle): string {
  return explainedTable([
    [
      "load qps",
      "accuracy/satisfied",
      "accuracy/query",
      "upper bound",
      "all served",
      "violations",
      "p50 ms",
      "p99 ms",
      "headroom",
      "feasible",
    ],
    ...bundle.levels.map((level) => [
      short(level.loadQps),
      percent(level.expected.accuracyPerSatisfied),
      percent(level.expected.accuracyPerQuery),
      percent(level.expected.upperBoundAccuracy),
      percent(level.expected.servedBoundAccuracy ?? null),
      promisedViolations(level.expected),
      ...latencyCells(level.expected),
      headroomCell(level.expected),
      feasibleText(level.feasible, ramsisMissed(bundle, level)),
    ]),
  ]);
}
