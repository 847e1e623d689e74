/** `inspect BUNDLE [--level QPS]` for a pipeline: its plans as tables. */
import type { LokiBundle, LokiLevel, PipelineTask } from "../../../bundle/schema.ts";
import { levelAt } from "../../../core/level-choice.ts";
import { type Lettered, letterOf } from "../../../describe/letters.ts";
import { feasibleText, missedTexts } from "../../../describe/missed-limits.ts";
import { headroomCell, paceLevelLines, promiseByPace } from "../../../describe/paces.ts";
import { onDevice, startOrigin } from "../../../describe/pool-device.ts";
import { servingPathText } from "../../../describe/serving-path.ts";
import { counted, explainedTable, percent, short } from "../../../describe/text.ts";
import type { BundleFile, Description } from "../../method.ts";
import { variantLetters } from "./letters.ts";
import { lokiMissed } from "./missed.ts";
import { planView } from "./plan-view.ts";

export function lokiSummary(
  bundle: LokiBundle,
  { bytes, sha256, formatVersion }: BundleFile,
): string {
  const { slo, policy, cluster, provenance, tasks } = bundle;
  const letters = variantLetters(bundle);
  const violations =
    slo.maxViolationRate === null ? "" : `, violations at most ${percent(slo.maxViolationRate)}`;
  return [
    `${bundle.application}: loki, format version ${formatVersion}, ${bytes} bytes`,
    `sha256 ${sha256}`,
    `compiled by ${provenance.compiler} from ${provenance.inputs.length} inputs`,
    `slo: ${short(slo.latencyMs)} ms${violations}`,
    servingPathText(bundle.cluster),
    ...cluster.pools.map((pool) => {
      return `pool ${pool.name}: ${counted(pool.workers, "server")}${onDevice(pool)}`;
    }),
    `policy: ${percent(policy.sloFraction)} of the SLO for execution, routing ${policy.routing}, ` +
      `drop ${policy.drop}, stages ${policy.stagePolicy}`,
    ...(policy.startFrom === undefined
      ? []
      : [`a server loads a model in ${short(policy.modelLoadMs)} ms${startOrigin(policy)}`]),
    ...tasks.flatMap((task, index) => ["", ...taskLines(bundle, task, index, letters)]),
    "",
    levelTable(bundle),
    ...paceLevelLines(bundle),
  ].join("\n");
}

/** Describes a task and its variants, pool by pool; variants without a letter are in no plan. */
function taskLines(
  { tasks, cluster }: LokiBundle,
  { name, parent, variants }: PipelineTask,
  task: number,
  letters: readonly Lettered[],
): string[] {
  const hasPools = cluster.pools.length > 1;
  return [
    parent === null ? `task ${name}` : `task ${name}, after ${tasks[parent]?.name}`,
    explainedTable([
      ["", "variant", "accuracy", "fan-out", ...(hasPools ? ["pool"] : []), "batches", "ms"],
      ...variants.flatMap(({ name: variant, accuracy, fanouts, profiles }, index) =>
        profiles.flatMap((profile, pool) => {
          if (profile === null) return [];
          return [
            [
              letterOf(letters, task, index),
              variant,
              percent(accuracy),
              fanouts.length === 0 ? "-" : fanouts.map(short).join(", "),
              ...(hasPools ? [cluster.pools[pool]?.name ?? ""] : []),
              Array.from(profile.batches.data).join(" "),
              Array.from(profile.latencyMs.data, short).join(" "),
            ],
          ];
        }),
      ),
    ]),
  ];
}

/** Returns one row per level: its load, plan and promises. */
export function levelTable(bundle: LokiBundle): string {
  return explainedTable([
    [
      "load qps",
      "plan step",
      "servers",
      "accuracy planned",
      "simulated",
      "violations",
      "p50 ms",
      "p99 ms",
      "headroom",
      "loads up",
      "loads down",
      "proof",
      "feasible",
    ],
    ...bundle.levels.map((level) => {
      const { loadQps, plan, expected, transition, solve } = level;
      return [
        short(loadQps),
        plan.step,
        String(plan.servers),
        percent(plan.accuracy),
        percent(expected.accuracyPerSatisfied),
        percent(expected.violationRate),
        short(expected.latencyMsP50),
        short(expected.latencyMsP99),
        headroomCell(expected),
        String(transition.modelLoadsFromBelow ?? "-"),
        String(transition.modelLoadsFromAbove ?? "-"),
        solve.status === "optimal" ? "optimal" : `gap ${short(solve.gap)}`,
        feasibleText(level.feasible, lokiMissed(bundle, level)),
      ];
    }),
  ]);
}

export function describePlan(bundle: LokiBundle, index: number): Description {
  const level = levelAt(bundle.levels, index);
  const json = { index, loadQps: level.loadQps, plan: planView(bundle, level) };
  return { text: planText(bundle, level), json };
}

/** Describes one level: its instances, and the paths of requests. */
function planText(bundle: LokiBundle, level: LokiLevel): string {
  const view = planView(bundle, level);
  const letters = variantLetters(bundle);
  return [
    `level ${short(level.loadQps)} qps: ${view.step} step, ${view.servers} servers, ` +
      `accuracy ${percent(view.accuracy)}`,
    ...(level.feasible ? [] : [shedText(bundle, level)]),
    "",
    explainedTable([
      ["", "task", "variant", "pool", "replicas", "batch", "ms", "qps of one"],
      ...view.instances.map((instance, index) => {
        const { task = 0, variant = 0 } = level.plan.instances[index] ?? {};
        return [
          letterOf(letters, task, variant),
          instance.task,
          instance.variant,
          instance.pool,
          String(instance.replicas),
          String(instance.batch),
          short(instance.latencyMs),
          short(instance.throughputQps),
        ];
      }),
    ]),
    "",
    explainedTable([
      ["path", "share", "accuracy", "ms"],
      ...view.paths.map(({ variants, ratio, accuracy, latencyMs }) => [
        Object.entries(variants)
          .map(([task, variant]) => `${task} ${variant}`)
          .join(" → "),
        percent(ratio),
        percent(accuracy),
        short(latencyMs),
      ]),
    ]),
    ...promiseByPace(level.expected),
  ].join("\n");
}

function shedText(bundle: LokiBundle, level: LokiLevel): string {
  return (
    `not feasible: ${missedTexts(lokiMissed(bundle, level))}; beyond the capacity of ` +
    `${short(level.capacityQps)} qps the excess is shed`
  );
}
