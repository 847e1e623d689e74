/**
 * `inspect BUNDLE [--level QPS]` for plans of cores and instances: the plan of each load, and its
 * changes in a burst.
 */
import type {
  LatencyFit,
  ScaledStage,
  ScaledTask,
  ScaledVariant,
  ScalePlan,
  ThemisBundle,
  ThemisLevel,
} from "../../../bundle/schema.ts";
import { levelAt } from "../../../core/level-choice.ts";
import { letterOf } from "../../../describe/letters.ts";
import { feasibleText, missedTexts } from "../../../describe/missed-limits.ts";
import { headroomCell, paceLevelLines, promiseByPace } from "../../../describe/paces.ts";
import { onDevice, startOrigin } from "../../../describe/pool-device.ts";
import { servingPathText } from "../../../describe/serving-path.ts";
import { taskTitle } from "../../../describe/task-title.ts";
import { explainedTable, latenciesText, percent, short } from "../../../describe/text.ts";
import type { BundleFile, Description } from "../../method.ts";
import { type Burst, type BurstStage, burstsFrom, distinctBursts } from "./burst-view.ts";
import { type FittedPoint, fitError, fittedPoints } from "./latency-fit-view.ts";
import { taskLetters } from "./letters.ts";
import { themisMissed } from "./missed.ts";
import { chosenText, plansView, planView } from "./plan-view.ts";

/** More rows than these do not fit a terminal. */
const MAX_BURSTS = 24;

/** Describes the plans of a level, and the changes of its followed plan in a burst. */
export function describePlan(bundle: ThemisBundle, index: number): Description {
  const level = levelAt(bundle.levels, index);
  const bursts = burstsFrom(bundle, index);
  const plan = plansView(bundle, level);
  const json = { index, loadQps: level.loadQps, plan, bursts };
  return { text: scaleLevelText(bundle, level, bursts), json };
}

export function themisSummary(
  bundle: ThemisBundle,
  { bytes, sha256, formatVersion }: BundleFile,
): string {
  const { slo, policy, cluster, provenance } = bundle;
  const violations =
    slo.maxViolationRate === null
      ? `, ${short(slo.percentile)}th percentile`
      : `, violations at most ${percent(slo.maxViolationRate)}`;
  const quantile =
    policy.queueing === "paper"
      ? ""
      : ` at the quantile ${policy.quantile === "auto" ? "auto" : short(policy.quantile)}`;
  const drop =
    policy.dropAfterSlos === null
      ? "never"
      : `after ${short(policy.dropAfterSlos)} × SLO` +
        (policy.dropRule === "rest" ? ", the rest of the way counted" : "");
  const extras = policy.extraCores === "one" ? "one core" : "as many cores";
  return [
    `${bundle.application}: themis, format version ${formatVersion}, ${bytes} bytes`,
    `sha256 ${sha256}`,
    `compiled by ${provenance.compiler} from ${provenance.inputs.length} inputs`,
    `slo: ${short(slo.latencyMs)} ms${violations}`,
    servingPathText(bundle.cluster),
    ...cluster.pools.map(
      ({ name, workers, cores, ...on }) =>
        `pool ${name}: ${workers} × ${cores ?? 1} cores, ${workers * (cores ?? 1)} in all` +
        onDevice(on),
    ),
    `policy: ${policy.scaling} scaling, ${policy.solver} solver, ${policy.queueing} queueing` +
      `${quantile}, predictor ${policy.predictor}, drop ${drop}`,
    `control: a look every ${short(policy.tickMs)} ms, ${policy.stableTicks} alike before ` +
      `instances follow; ${short(policy.resizeMs)} ms for other cores, ` +
      `${short(policy.coldStartMs)} ms for an instance${startOrigin(policy)}; extras of ${extras}`,
    ...bundle.tasks.flatMap((task, index) => ["", ...taskLines(bundle, task, index)]),
    "",
    levelTable(bundle),
    ...paceLevelLines(bundle),
  ].join("\n");
}

/** Describes a task: its sources, its model of latency, and the error of the fit. */
function taskLines(bundle: ThemisBundle, task: ScaledTask, index: number): string[] {
  return [
    `${letterOf(taskLetters(bundle), index, 0)} ${taskTitle(bundle, task)}`,
    ...task.variants.flatMap((variant) => variantLines(bundle, task, variant)),
  ];
}

function variantLines(
  { cluster }: ThemisBundle,
  task: ScaledTask,
  { latency, name, accuracy, pool = 0 }: ScaledVariant,
): string[] {
  const where = cluster.pools.length === 1 ? "" : ` on ${cluster.pools[pool]?.name ?? ""}`;
  const [maxCores = 0, maxBatch = 0] = latency.ms.shape;
  const points = fittedPoints(latency);
  const error = fitError(points);
  const { fit } = latency;
  const source = points.length === 0 ? ", as given" : "";
  return [
    `model ${name}${where}, accuracy ${percent(accuracy)}, ` +
      `${short(task.scaleFactor)} queries per request, ` +
      `up to ${maxCores} cores and batches of ${maxBatch}`,
    fit === null ? "latency as measured, without a fit" : `${fitText(fit)}${source}`,
    ...(error === null
      ? []
      : [
          `fit error over ${points.length} points: mean ${percent(error.mean)}, worst ` +
            `${percent(error.worst)}`,
          pointTable(points),
        ]),
  ];
}

/** Returns the formula of the latency of a batch of b on c cores. */
function fitText({ gamma, epsilon, delta, eta }: LatencyFit): string {
  return (
    `l(b, c) = ${short(gamma)} b / c + ${short(epsilon)} / c + ${short(delta)} b + ` +
    `${short(eta)} ms for a batch of b on c cores`
  );
}

/** Sorted worst first. */
function pointTable(points: readonly FittedPoint[]): string {
  const sorted = [...points].sort((a, b) => Math.abs(b.error ?? 0) - Math.abs(a.error ?? 0));
  return explainedTable([
    ["batch", "cores", "measured ms", "fitted ms", "error"],
    ...sorted.map(({ batch, cores, measuredMs, fittedMs, error }) => [
      String(batch),
      String(cores),
      short(measuredMs),
      fittedMs === null ? "-" : short(fittedMs),
      percent(error),
    ]),
  ]);
}

/** Returns one row per level: the cores of each kind of plan, and the plan that is followed. */
export function levelTable(bundle: ThemisBundle): string {
  const { slo, levels } = bundle;
  return explainedTable([
    [
      "load qps",
      "horizontal",
      "vertical",
      "joint",
      "followed",
      "held",
      `ms of ${short(slo.latencyMs)}`,
      "quantile",
      "simulated p50",
      "p99 ms",
      "violations",
      "headroom",
      "instances × cores, batch",
      "feasible",
    ],
    ...levels.map((level) => {
      const { loadQps, horizontal, vertical, joint, steady, solve } = level;
      return [
        short(loadQps),
        coresText(horizontal),
        coresText(vertical),
        coresText(joint),
        coresText(steady),
        short(steady.expected.cores ?? steady.cores),
        short(steady.latencyMs),
        solve.quantile === null ? "-" : short(solve.quantile),
        short(steady.expected.latencyMsP50),
        short(steady.expected.latencyMsP99),
        percent(steady.expected.violationRate),
        headroomCell(steady.expected),
        steady.stages
          .map((stage, task) => {
            const { batch, cores, instances } = stage;
            return `${chosen(bundle, stage, task)}${instances}×${cores} b${batch}`;
          })
          .join(", "),
        feasibleText(level.feasible, themisMissed(bundle, level)),
      ];
    }),
  ]);
}

function chosen({ tasks, cluster }: ThemisBundle, stage: ScaledStage, task: number): string {
  return chosenText(tasks[task]?.variants ?? [], stage, cluster.pools);
}

function coresText(plan: ScalePlan | null): string {
  return plan === null ? "-" : String(plan.cores);
}

/**
 * Describes one level: its plan, the load of each task, the other kinds of plan, and the changes in
 * a burst.
 */
function scaleLevelText(
  bundle: ThemisBundle,
  level: ThemisLevel,
  bursts: readonly Burst[],
): string {
  const { slo } = bundle;
  const { loadQps, capacityQps, feasible, steady, solve } = level;
  const quantile = solve.quantile === null ? "" : `, quantile ${short(solve.quantile)}`;
  const view = planView(bundle, steady, capacityQps);
  const waitingMs = steady.latencyMs - view.processingMs;
  const { expected } = steady;
  const letters = taskLetters(bundle);
  return [
    `level ${short(loadQps)} qps: ${steady.cores} cores, ${solve.method}, ` +
      `${solve.status}${quantile}`,
    ...(feasible ? [] : [beyondText(bundle, level)]),
    ...(view.accuracy === undefined
      ? []
      : [`accuracy ${percent(view.accuracy)}, of the variants on each way to an answer`]),
    `longest path ${short(steady.latencyMs)} of ${short(slo.latencyMs)} ms by the model: ` +
      `${short(view.processingMs)} ms processing whole batches, ${short(waitingMs)} ms waiting`,
    `simulated at ${short(capacityQps)} qps: ${latenciesText(expected)}, ` +
      `violations ${percent(expected.violationRate)} of ${expected.requests} requests`,
    "",
    explainedTable([
      [
        "",
        "task",
        "batch",
        "cores",
        "instances",
        "ms",
        "of the SLO",
        "load qps",
        "throughput qps",
        "utilisation",
      ],
      ...view.stages.map((stage, task) => [
        letterOf(letters, task, 0),
        [stage.task, stage.variant ?? [], stage.pool === undefined ? [] : `on ${stage.pool}`]
          .flat()
          .join(" "),
        String(stage.batch),
        String(stage.cores),
        String(stage.instances),
        short(stage.latencyMs),
        percent(stage.sloShare),
        short(stage.loadQps),
        short(stage.throughputQps),
        percent(stage.utilisation),
      ]),
    ]),
    "",
    planTable(bundle, level),
    "of each task: instances × cores, batch",
    "",
    ...burstLines(level, bursts),
    ...promiseByPace(expected),
  ].join("\n");
}

/** Describes the limits that the load misses, the task responsible, and the load of the plan. */
function beyondText(bundle: ThemisBundle, level: ThemisLevel): string {
  const { bindingTask } = level.solve;
  const binding = bindingTask === null ? undefined : bundle.tasks[bindingTask]?.name;
  const most = binding === undefined ? "" : `, ${binding} taking most of it`;
  return (
    `not feasible: ${missedTexts(themisMissed(bundle, level))}; no plan of the pool meets ` +
    "the SLO " +
    `at this load${most}: this one is for ${short(level.capacityQps)} qps`
  );
}

/** Compares the three kinds of plan for the load. */
function planTable(bundle: ThemisBundle, level: ThemisLevel): string {
  const kinds = Object.entries({
    horizontal: level.horizontal,
    vertical: level.vertical,
    joint: level.joint,
  });
  return explainedTable([
    ["plan", "cores", "ms", "simulated p99", "violations", ...bundle.tasks.map(({ name }) => name)],
    ...kinds.map(([kind, plan]) => [
      kind,
      ...(plan === null
        ? ["-", "-", "-", "-"]
        : [
            String(plan.cores),
            short(plan.latencyMs),
            short(plan.expected.latencyMsP99),
            percent(plan.expected.violationRate),
            ...plan.stages.map((stage, task) => {
              const { batch, cores, instances } = stage;
              return `${chosen(bundle, stage, task)}${instances} × ${cores}, b${batch}`;
            }),
          ]),
    ]),
  ]);
}

/** Returns one row for loads with the same changes. */
function burstLines({ loadQps }: ThemisLevel, bursts: readonly Burst[]): string[] {
  if (bursts.length === 0) return ["the top level: a burst beyond it finds this plan"];
  const rows = distinctBursts(bursts);
  const shown = rows.slice(0, MAX_BURSTS);
  return [
    `when more than ${short(loadQps)} qps come at once, its instances go to:`,
    explainedTable([
      ["up to qps", "cores in all", ...(bursts[0]?.stages.map(({ task }) => task) ?? [])],
      ...shown.map((burst) => [
        short(burst.loadQps),
        String(burst.cores),
        ...burst.stages.map(burstText),
      ]),
    ]),
    ...(shown.length < rows.length
      ? [`and ${rows.length - shown.length} rows more, which --json lists`]
      : []),
  ];
}

function burstText({ batch, cores, instances, extras, extraCores }: BurstStage): string {
  const more = extras === 0 ? "" : ` and ${extras} more × ${extraCores}`;
  return `${instances} × ${cores}${more}, b${batch}`;
}
