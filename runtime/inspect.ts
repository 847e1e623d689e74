/** What a bundle says, as data: the whole of it, one level's policy as a map, or one state's decision. */
import {
  type AccordionBundle,
  type Bundle,
  FORMAT_VERSION,
  type LokiLevel,
  type PipelineTask,
  type PipelineVariant,
  type RamsisBundle,
  type RamsisLevel,
  type StageTask,
  type StageVariant,
  type Table,
  type ThemisBundle,
} from "./bundle/schema.ts";
import { sectionsOf } from "./bundle-sections.ts";
import { levelForLoad } from "./core/level-choice.ts";
import { GIVE_UP, PolicyTable, WAIT } from "./core/policy-table.ts";
import { RuntimeError } from "./errors.ts";
import { layerPlanView } from "./methods/accordion/tell/layer-plan-view.ts";
import { stagePlanView, trafficView } from "./methods/inferline/tell/stage-plan-view.ts";
import { planView } from "./methods/loki/tell/plan-view.ts";
import { classViews, decidingTable } from "./methods/ramsis/tell/class-level-view.ts";
import { fitError, fittedPoints } from "./methods/themis/tell/latency-fit-view.ts";
import { scalePlansView, scaleReportView } from "./methods/themis/tell/scale-plan-view.ts";

export type BundleInspection = ReturnType<typeof inspectBundle>;

/** @param file size and SHA-256 of the file that held the bundle. */
export function inspectBundle(bundle: Bundle, file: { byteCount: number; sha256: string }) {
  return {
    formatVersion: FORMAT_VERSION,
    application: bundle.application,
    method: bundle.method,
    bytes: file.byteCount,
    sha256: file.sha256,
    slo: bundle.slo,
    arrivals: bundle.arrivals,
    cluster: bundle.cluster,
    tasks: taskReports(bundle),
    policy: bundle.policy,
    levels: levelReports(bundle),
    provenance: bundle.provenance,
    sections: sectionsOf(bundle),
  };
}

function taskReports(bundle: Bundle) {
  if (bundle.method === "ramsis") return bundle.tasks.map(taskReport);
  if (bundle.method === "themis") return bundle.tasks.map(scaledReport);
  if (bundle.method === "accordion") return bundle.tasks.map(malleableReport);
  const tasks: readonly (PipelineTask | StageTask)[] = bundle.tasks;
  return tasks.map(({ variants, ...task }) => ({ ...task, variants: measuredReports(variants) }));
}

function taskReport({ name, variants, serviceTimes }: RamsisBundle["tasks"][number]) {
  return {
    name,
    variants: variants.map((variant, index) => ({
      ...variant,
      batch1Ms: serviceMsOf(serviceTimes.decisionMs, index, 1),
    })),
  };
}

/** Latencies by cores less one and batch less one, and how far the fit is from what was measured. */
function scaledReport({ variants, ...task }: ThemisBundle["tasks"][number]) {
  return {
    ...task,
    variants: variants.map(({ latency, ...variant }) => {
      const [maxCores = 0, maxBatch = 0] = latency.ms.shape;
      const points = fittedPoints(latency);
      const msByCores = Array.from({ length: maxCores }, (_, core) =>
        Array.from(latency.ms.data.subarray(core * maxBatch, (core + 1) * maxBatch)),
      );
      return { ...variant, fit: latency.fit, fitError: fitError(points), points, msByCores };
    }),
  };
}

/** Pipelines are told with the levels; latencies by shape and batch less one, null where there is no pipeline. */
function malleableReport({ variants, ...task }: AccordionBundle["tasks"][number]) {
  return {
    ...task,
    variants: variants.map(({ latencyMs, pipelines, ...variant }) => {
      const [, maxBatch = 0] = latencyMs.shape;
      const msByShape = pipelines.map((pipeline, shape) =>
        pipeline === null
          ? null
          : Array.from(latencyMs.data.subarray(shape * maxBatch, (shape + 1) * maxBatch)),
      );
      return { ...variant, msByShape };
    }),
  };
}

/** Tables as the sections they are, apart from what was measured. */
function measuredReports(variants: readonly (PipelineVariant | StageVariant)[]) {
  return variants.map(({ profiles, ...variant }) => ({
    ...variant,
    profiles: profiles.map(
      (measured) =>
        measured && {
          ...measured.profile,
          percentile: measured.serviceTimes.percentile,
          batches: Array.from(measured.batches.data),
          latencyMs: Array.from(measured.latencyMs.data),
        },
    ),
  }));
}

/** As `compile` reports levels, except for the wall time, which bundles do not carry. */
export function levelReports(bundle: Bundle, solveMs: readonly number[] = []) {
  const solveOf = ({ solve }: RamsisLevel | LokiLevel, index: number) => ({
    ms: solveMs[index] ?? null,
    ...solve,
  });
  if (bundle.method === "ramsis") {
    return bundle.levels.map((level, index) => {
      const { loadQps, feasible, capacityQps, expected } = level;
      const solve = solveOf(level, index);
      const workers = level.classTables && workersByClass(bundle, level);
      const split = workers === undefined ? {} : { workersByClass: workers };
      return { loadQps, feasible, capacityQps, expected, ...split, solve };
    });
  }
  if (bundle.method === "inferline") {
    return bundle.levels.map((level, index) => {
      const { loadQps, feasible, capacityQps, expected } = level;
      const plan = stagePlanView(bundle, level);
      const sample = trafficView(level.sample);
      const { method, status, provenGap: gap, evaluations } = level.solve;
      const solve = { ms: solveMs[index] ?? null, method, status, gap, evaluations };
      return { loadQps, feasible, capacityQps, plan, sample, expected, solve };
    });
  }
  if (bundle.method === "themis") {
    return bundle.levels.map((level, index) => {
      const { loadQps, feasible, capacityQps, steady } = level;
      const plan = scalePlansView(bundle, level);
      const solve = { ms: solveMs[index] ?? null, ...scaleReportView(bundle, level.solve) };
      return { loadQps, feasible, capacityQps, plan, expected: steady.expected, solve };
    });
  }
  if (bundle.method === "accordion") {
    // The same at every load, which says only what comes of it.
    const plan = layerPlanView(bundle);
    return bundle.levels.map(({ loadQps, feasible, capacityQps, expected }, index) => {
      const solve = { ms: solveMs[index] ?? null, method: "partition" };
      return { loadQps, feasible, capacityQps, plan, expected, solve };
    });
  }
  return bundle.levels.map((level, index) => {
    const { loadQps, feasible, capacityQps, expected, transition } = level;
    const plan = planView(bundle, level);
    const solve = solveOf(level, index);
    return { loadQps, feasible, capacityQps, plan, transition, expected, solve };
  });
}

/** Where each class has workers of its own. */
function workersByClass(bundle: RamsisBundle, level: RamsisLevel): Record<string, number | null> {
  return Object.fromEntries(classViews(bundle, level).map(({ name, workers }) => [name, workers]));
}

export interface StateQuery {
  readonly queued: number;
  readonly slackMs: number;
}

/** A state as it is asked for, with the class that is named. */
export interface AskedState extends StateQuery {
  readonly sloClass?: string;
}

/** Reads `queued=7,slack=40ms` and `class=NAME` with it; slack in ms or s, a bare number is ms. @throws RuntimeError RUNTIME_USAGE. */
export function parseState(text: string): AskedState {
  const fields = new Map<string, string>();
  for (const part of text.split(",")) {
    const [key = "", value = "", ...rest] = part.split("=").map((side) => side.trim());
    if (!["queued", "slack", "class"].includes(key) || rest.length > 0 || fields.has(key)) {
      refuseState(`"${part}"`, "queued=COUNT,slack=TIME");
    }
    fields.set(key, value);
  }
  const queued = fields.get("queued") ?? "";
  if (!/^[1-9]\d{0,8}$/.test(queued)) refuseState(`queued="${queued}"`, "queued an integer from 1");
  const slack = fields.get("slack") ?? "";
  const match = /^(-?\d+(?:\.\d+)?)\s*(ms|s)?$/.exec(slack);
  if (match === null) return refuseState(`slack="${slack}"`, "slack a time such as 40ms or 0.04s");
  const [, amount, unit] = match;
  const slackMs = Number(amount) * (unit === "s" ? 1000 : 1);
  const sloClass = fields.get("class");
  return { queued: Number(queued), slackMs, ...(sloClass === undefined ? {} : { sloClass }) };
}

function refuseState(found: string, allowed: string): never {
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `--state: expected ${allowed}, got ${found}; an example is --state queued=7,slack=40ms`,
  );
}

/** One way to serve a state. */
export interface Choice {
  readonly variant: string;
  readonly batch: number;
  readonly serviceMs: number;
  readonly accuracy: number;
  /** Whether the batch ends within the slack of the query that has waited longest. */
  readonly meetsSlack: boolean;
}

/** No batch yet: a later one will be better. */
export interface Wait {
  /** Waiting ends when the slack falls below this, or another query comes. */
  readonly waitUntilSlackMs: number;
}

/** The earliest query is not served in time, for the sake of the others. */
export interface GiveUp {
  readonly givesUp: true;
}

export type Decision = Choice | Wait | GiveUp;

export interface StateInspection extends StateQuery {
  /** The level that answered. */
  readonly level: { readonly index: number; readonly loadQps: number };
  /** The class whose table it was; left out where the level has one for all. */
  readonly sloClass?: string;
  /** The state as the table knows it: the queue cut to its capacity, the slack rounded down to the grid. */
  readonly tableState: StateQuery;
  readonly decision: Decision;
  /** Every variant at the decided batch size, the decided one included; where the decision is to wait, at that of all that wait. */
  readonly alternatives: readonly Choice[];
  readonly withOneMoreQueued: Decision;
  /** Null in the first column. */
  readonly withOneSlackStepLess: (Decision & { readonly slackMs: number }) | null;
}

/**
 * The decision in a state, and what else could have been done. @param loadQps null when unknown.
 * @throws RuntimeError RUNTIME_USAGE for a class that there is not.
 */
export function inspectState(
  whole: RamsisBundle,
  asked: AskedState & { readonly loadQps: number | null },
): StateInspection {
  const { loadQps, queued, slackMs } = asked;
  const index = levelForLoad(whole.levels, loadQps ?? Number.NaN);
  const { bundle, level, sloClass } = decidingTable(whole, index, asked.sloClass);
  const table = PolicyTable.fromBundle(bundle);
  const decide = (atQueued: number, atSlackMs: number): Decision => {
    const action = table.lookup(level, atQueued, atSlackMs);
    if (action === GIVE_UP) return { givesUp: true };
    if (action === WAIT) {
      return { waitUntilSlackMs: table.waitUntilSlackMs(level, atQueued, atSlackMs, 0) };
    }
    return choiceOf(bundle, table.variant(action), table.batch(action), atSlackMs);
  };
  const grid = bundle.decisionSpace.slackMs.data;
  const column = Math.max(
    0,
    grid.findLastIndex((ms: number) => ms <= slackMs),
  );
  const lessMs = grid[column - 1];
  const decision = decide(queued, slackMs);
  const maxBatch = onlyTask(bundle).serviceTimes.decisionMs.shape[1] ?? 1;
  const batch = "batch" in decision ? decision.batch : Math.min(queued, maxBatch);
  return {
    queued,
    slackMs,
    level: { index, loadQps: whole.levels[index]?.loadQps ?? 0 },
    ...(sloClass === undefined ? {} : { sloClass }),
    tableState: { queued: table.rowQueued(queued), slackMs: grid[column] ?? 0 },
    decision,
    alternatives: onlyTask(bundle).variants.map((_, variant) =>
      choiceOf(bundle, variant, batch, slackMs),
    ),
    withOneMoreQueued: decide(queued + 1, slackMs),
    withOneSlackStepLess:
      lessMs === undefined ? null : { ...decide(queued, lessMs), slackMs: lessMs },
  };
}

/** Variants chosen over part of a level's states. */
export interface PolicyMap {
  /** Numbers of queued queries, ascending: [rowCount]. */
  readonly queued: readonly number[];
  /** Slacks of the grid, ascending: [columnCount]. */
  readonly slackMs: readonly number[];
  /** Index of the chosen variant, −1 for waiting, −2 for giving up: [rowCount][columnCount]. */
  readonly variantByState: readonly (readonly number[])[];
}

/** The policy of a level at no more than `maxRows` × `maxColumns` states, evenly spread, the first and last included. */
export function mapPolicy(
  bundle: RamsisBundle,
  level: number,
  [maxRows, maxColumns]: readonly [number, number],
): PolicyMap {
  const table = PolicyTable.fromBundle(bundle);
  const grid = bundle.decisionSpace.slackMs.data;
  const queued = spread(table.rowQueries.length, maxRows).map((row) => table.rowQueries[row] ?? 0);
  const slackMs = spread(grid.length, maxColumns).map((column) => grid[column] ?? 0);
  const variantByState = queued.map((count) =>
    slackMs.map((slack) => {
      const action = table.lookup(level, count, slack);
      if (action === GIVE_UP) return -2;
      return action === WAIT ? -1 : table.variant(action);
    }),
  );
  return { queued, slackMs, variantByState };
}

/** Up to `maxCount` of the indices below `count`. */
function spread(count: number, maxCount: number): number[] {
  const length = Math.min(count, maxCount);
  const step = length > 1 ? (count - 1) / (length - 1) : 0;
  return Array.from({ length }, (_, index) => Math.round(index * step));
}

function choiceOf(bundle: RamsisBundle, variant: number, batch: number, slackMs: number): Choice {
  const { variants, serviceTimes } = onlyTask(bundle);
  const serviceMs = serviceMsOf(serviceTimes.decisionMs, variant, batch);
  const { name = "", accuracy = 0 } = variants[variant] ?? {};
  return { variant: name, batch, serviceMs, accuracy, meetsSlack: serviceMs <= slackMs };
}

function serviceMsOf({ data, shape }: Table, variant: number, batch: number): number {
  return data[variant * (shape[1] ?? 0) + batch - 1] ?? Number.NaN;
}

function onlyTask({ tasks }: RamsisBundle): RamsisBundle["tasks"][number] {
  const [task] = tasks;
  if (task === undefined) throw new RangeError("a validated bundle has a task");
  return task;
}
