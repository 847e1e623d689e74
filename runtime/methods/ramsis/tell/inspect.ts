/** `inspect BUNDLE` of tables: what they are for, and what each level promises. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { alignColumns, percent, promisedViolations, short } from "../../../tell/text.ts";
import type { BundleFile } from "../../method.ts";
import { classViews } from "./class-level-view.ts";

export function ramsisSummary(bundle: RamsisBundle, file: BundleFile): string {
  const { slo, policy, cluster, provenance } = bundle;
  const violations =
    slo.maxViolationRate === null ? "" : `, violations at most ${percent(slo.maxViolationRate)}`;
  return [
    `${bundle.application}: ${bundle.method}, format version ${file.formatVersion}, ${file.bytes} bytes`,
    `sha256 ${file.sha256}`,
    `compiled by ${provenance.compiler} from ${provenance.inputs.length} inputs`,
    ...sloLines(bundle, violations),
    ...cluster.pools.map(({ name, workers }) => `pool ${name}: ${workers} workers`),
    `policy: ${policy.objective}, ${bundle.decisionSpace.slackMs.data.length - 1} slack steps, ${policy.batching} batching, ${policy.maxQueue} queued at most, ${policy.balancer}`,
    ...bundle.tasks.flatMap(({ name, variants, serviceTimes }) => [
      "",
      `task ${name}`,
      alignColumns([
        ["variant", "accuracy", "batch 1 ms", "dominated"],
        ...variants.map((variant, index) => [
          variant.name,
          percent(variant.accuracy),
          short(serviceTimes.decisionMs.data[index * (serviceTimes.decisionMs.shape[1] ?? 0)] ?? 0),
          variant.dominated ? "yes" : "no",
        ]),
      ]),
    ]),
    "",
    promiseTable(bundle),
    ...(slo.classes === undefined ? [] : ["", classTable(bundle)]),
  ].join("\n");
}

function sloLines({ slo, policy }: RamsisBundle, violations: string): string[] {
  const { classes } = slo;
  if (classes === undefined) return [`slo: ${short(slo.latencyMs)} ms${violations}`];
  const each = classes.map(
    ({ name, latencyMs, share }) => `${name} ${short(latencyMs)} ms (${percent(share)})`,
  );
  const how = {
    auto: "one queue or workers of their own, by level",
    shared: "one queue",
    separate: "workers of their own",
  }[policy.classes ?? "shared"];
  return [`slo by class: ${each.join(", ")}${violations}; ${how}`];
}

/**
 * One row per level and class: its workers where it has some of its own, and what the level
 * promises it.
 */
export function classTable(bundle: RamsisBundle): string {
  const rows = bundle.levels.flatMap((level) =>
    classViews(bundle, level).map(({ name, latencyMs, share, workers, expected }) => [
      short(level.loadQps),
      name,
      short(latencyMs),
      percent(share),
      workers === null ? "one queue" : String(workers),
      percent(expected?.accuracyPerSatisfied ?? null),
      percent(expected?.accuracyPerQuery ?? null),
      percent(expected?.violationRate ?? null),
    ]),
  );
  return alignColumns([
    [
      "load qps",
      "class",
      "slo ms",
      "share",
      "workers",
      "accuracy/satisfied",
      "accuracy/query",
      "violations ≤",
    ],
    ...rows,
  ]);
}

/** One row per level: its load and what it promises. */
export function promiseTable({ levels }: RamsisBundle): string {
  return alignColumns([
    [
      "load qps",
      "accuracy/satisfied",
      "accuracy/query",
      "upper bound",
      "all served",
      "violations",
      "capacity qps",
      "feasible",
    ],
    ...levels.map(({ loadQps, expected, capacityQps, feasible }) => [
      short(loadQps),
      percent(expected.accuracyPerSatisfied),
      percent(expected.accuracyPerQuery),
      percent(expected.upperBoundAccuracy),
      percent(expected.servedBoundAccuracy ?? null),
      promisedViolations(expected),
      short(capacityQps),
      feasible ? "yes" : "no",
    ]),
  ]);
}
