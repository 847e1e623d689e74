/**
 * `inspect BUNDLE [--level QPS]` for malleable pipelines: the pipelines of a model by number of
 * places, and the figures of each load.
 */
import type { AccordionBundle, AccordionLevel, MalleableVariant } from "../../../bundle/schema.ts";
import { levelAt } from "../../../core/level-choice.ts";
import { feasibleText, missedTexts } from "../../../describe/missed-limits.ts";
import { headroomCell, promiseByPace } from "../../../describe/paces.ts";
import { onDevice } from "../../../describe/pool-device.ts";
import { servingPathText } from "../../../describe/serving-path.ts";
import { counted, explainedTable, latenciesText, percent, short } from "../../../describe/text.ts";
import type { BundleFile, Description } from "../../method.ts";
import { placesByPool } from "../bundle/place-shapes.ts";
import { modelLetters } from "./letters.ts";
import { accordionMissed } from "./missed.ts";
import { type DepthView, depthViews, planView } from "./plan-view.ts";

/** Describes the simulation of a level's load, and the pipelines of every load. */
export function describeLevel(bundle: AccordionBundle, index: number): Description {
  const level = levelAt(bundle.levels, index);
  const json = { index, ...level, plan: planView(bundle) };
  return { text: levelText(bundle, level), json };
}

export function accordionSummary(
  bundle: AccordionBundle,
  { bytes, sha256, formatVersion }: BundleFile,
): string {
  const { slo, policy, cluster, provenance } = bundle;
  const places = placesByPool(cluster.pools, policy.executionPlaces);
  const violations =
    slo.maxViolationRate === null
      ? `, ${short(slo.percentile)}th percentile`
      : `, violations at most ${percent(slo.maxViolationRate)}`;
  return [
    `${bundle.application}: accordion, format version ${formatVersion}, ${bytes} bytes`,
    `sha256 ${sha256}`,
    `compiled by ${provenance.compiler} from ${provenance.inputs.length} inputs`,
    `slo: ${short(slo.latencyMs)} ms${violations}`,
    servingPathText(bundle.cluster),
    ...cluster.pools.map(
      ({ name, workers, ...on }, pool) =>
        `pool ${name}: ${counted(workers, "worker")}, ` +
        `${places[pool] ?? 0} of them execution places${onDevice(on)}`,
    ),
    `policy: ${policy.scheduler} scheduler, ${policy.timing} timing, ` +
      `up to ${policy.maxDepth} places and ${policy.maxBatch} instances per query`,
    `control: ${short(policy.reconfigurationMs)} ms to give a running query other places, ` +
      `${policy.regrow ? "more of them if that helps" : "never more of them"}; ` +
      `drop of low priority ${dropText(policy)}`,
    `simulated queries: ${short(policy.meanBatch)} instances in the mean, ` +
      `log-normal with σ ${short(policy.batchSigma)}, ${percent(policy.lowShare)} of low priority`,
    ...modelLines(bundle),
    "",
    levelTable(bundle),
  ].join("\n");
}

function dropText({ dropAfterSlos, dropout }: AccordionBundle["policy"]): string {
  if (dropAfterSlos === null) return "never";
  const when = dropout === "arrival" ? "if foretold" : "once certain";
  return `${when} to take longer than ${short(dropAfterSlos)} × SLO`;
}

function modelLines(bundle: AccordionBundle): string[] {
  return bundle.tasks.flatMap(({ variants }) =>
    variants.flatMap((variant) => ["", ...depthLines(bundle, variant)]),
  );
}

/** Returns a row for each shape. */
function depthLines(bundle: AccordionBundle, variant: MalleableVariant): string[] {
  const { name, accuracy, layerCount, stages, model } = variant;
  const layers = layerCount === 0 ? "speed-ups as given" : `${layerCount} layers`;
  const files = model === null ? "no model" : `${stages.length} stages in files of their own`;
  const hasPools = bundle.cluster.pools.length > 1;
  const letter = modelLetters(bundle).get(name) ?? "-";
  return [
    `${letter} model ${name}: accuracy ${percent(accuracy)}, ${layers}, ${files}`,
    explainedTable([
      [
        "places",
        ...(hasPools ? ["pools"] : []),
        "ms of 1",
        `ms of ${bundle.policy.maxBatch}`,
        "step ms",
        "speed-up",
        "times",
        "layers",
        "stage ms",
      ],
      ...depthViews(bundle, variant).map((depth) => [
        String(depth.executionPlaces),
        ...(hasPools ? [depth.pools.join(", ")] : []),
        short(depth.latencyMs),
        short(depth.largestMs),
        short(depth.stepMs),
        short(depth.speedup),
        originOf(depth),
        listed(depth.cut),
        listed(depth.stageMs),
      ]),
    ]),
  ];
}

/** Returns the source of the times. */
function originOf({ cut, isMeasured }: DepthView): string {
  if (cut.length === 0) return isMeasured ? "given" : "interpolated";
  return isMeasured ? "measured" : "added up";
}

function listed(values: readonly number[]): string {
  return values.length === 0 ? "-" : values.map(short).join(" | ");
}

/** Returns one row per level: the figures of its simulation. */
export function levelTable(bundle: AccordionBundle): string {
  return explainedTable([
    [
      "load qps",
      "violations",
      "dropped",
      "p50 ms",
      "p99 ms",
      "places busy",
      "active queries",
      "reshapes per query",
      "capacity qps",
      "headroom",
      "feasible",
    ],
    ...bundle.levels.map((level) => {
      const { loadQps, capacityQps, expected } = level;
      return [
        short(loadQps),
        percent(expected.violationRate),
        percent(expected.droppedRate),
        short(expected.latencyMsP50),
        short(expected.latencyMsP99),
        percent(expected.occupancy),
        short(expected.activeQueries),
        short(expected.reconfigurations),
        short(capacityQps),
        headroomCell(expected),
        feasibleText(level.feasible, accordionMissed(bundle, level)),
      ];
    }),
  ]);
}

function levelText(bundle: AccordionBundle, level: AccordionLevel): string {
  const { loadQps, capacityQps, expected } = level;
  const beyond = loadQps > capacityQps;
  const at = `level ${short(loadQps)} qps`;
  return [
    level.feasible
      ? `${at}: feasible, violations ${percent(expected.violationRate)}`
      : `${at}: not feasible: ${missedTexts(accordionMissed(bundle, level))}`,
    ...(beyond ? [`no schedule carries more than ${short(capacityQps)} qps`] : []),
    `simulated for ${short(expected.durationMs / 1000)} s with seed ${expected.seed}: ` +
      `${expected.queries} queries, ${percent(expected.droppedRate)} dropped, ` +
      latenciesText(expected),
    `${percent(expected.occupancy)} of the places busy, ` +
      `${short(expected.activeQueries)} queries at a time, ` +
      `${short(expected.reconfigurations)} times other places per query`,
    "the pipelines are those of every load:",
    ...modelLines(bundle),
    ...promiseByPace(expected),
  ].join("\n");
}
