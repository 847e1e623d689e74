/**
 * Implements `profile --layers`: measures the layers of every model separately, finds the best cuts
 * by these times, and measures the resulting stages.
 */
import { mkdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assert } from "stratagem-runtime/internal/core/assert";
import { ownedName, removeLeftOvers } from "../base/owned-names.ts";
import { layerPartitions } from "../numeric/partition.ts";
import { emptyModel } from "../onnx/empty-model.ts";
import type { LayersSpec } from "../spec/schema/profile-schema.ts";
import { quantilesOf, rounded } from "./latency-profile.ts";
import { layerTimes } from "./layer-times.ts";
import { type Cell, WARM_UP_RUNS } from "./measure.ts";
import { measureRounds, type RoundOptions, type RoundSources } from "./measured-rounds.ts";
import {
  type DepthTimes,
  depthTimesOf,
  longestStages,
  mostStageRuns,
  planStages,
  type StagePlan,
  stageTurns,
} from "./measured-stages.ts";
import { evenCells, partialPath, readPartial, writePartial } from "./partial-file.ts";
import type { ProfilePlan } from "./profile-plan.ts";
import {
  planSegments,
  type Segment,
  type SegmentPlan,
  segmentInputs,
  writtenModel,
} from "./segments.ts";

/** Times of one instance, in ms. */
export interface LayerTimes {
  readonly variant: string;
  /** Operators of each layer, for people. */
  readonly names: readonly string[];
  /** Median time of each layer run as its own model, inside the worker. */
  readonly unitMs: readonly number[];
  /** Median times inside the worker of the whole model and of a model that computes nothing. */
  readonly wholeMs: number;
  readonly emptyMs: number;
  /** Time of each layer, above 0; they sum to the time of the whole model. */
  readonly layerMs: readonly number[];
  /** Median time of the whole model for the caller, minus its time inside the worker. */
  readonly overheadMs: number;
  /** Row d − 1 has the number of layers in each of d stages. */
  readonly cuts: readonly (readonly number[])[];
}

export interface MeasuredLayers {
  readonly layers: readonly LayerTimes[];
  readonly depths: readonly DepthTimes[];
  /** Plan and cells of the whole models and the stages only. */
  readonly plan: ProfilePlan;
  readonly cells: readonly Cell[];
}

export interface LayerSources extends Omit<RoundSources, "onProgress"> {
  readonly onProgress: (done: number, total: number, stage?: string) => void;
}

/**
 * Measures layers and stages.
 * @param plan with the single batch size 1 and one number of cores; its variants have layers.
 * @param out path that partial files are named after; they stay until `removePartials`, so that an
 * interrupted run can continue.
 * @param takeFinished accepts complete measurements instead of repeating them.
 * @throws as `measureRounds`.
 */
export async function measureLayers(
  plan: ProfilePlan,
  out: string,
  takeFinished: boolean,
  sources: LayerSources,
): Promise<MeasuredLayers> {
  const folder = await scratchFolder();
  try {
    const units = await planUnits(plan, folder);
    const kept = await keptRounds(units, plan, out, takeFinished, folder);
    let unitRuns = 0;
    const onUnit = (done: number, total: number): void => {
      unitRuns = total;
      sources.onProgress(done, total + mostStageRuns(plan), "layers");
    };
    const unitCells = isFinished(kept.units, plan)
      ? kept.units
      : await measure(units, unitsOut(out), kept.units, { ...sources, onProgress: onUnit });
    await writeAll(unitsOut(out), units.plan, unitCells);
    const layers = layerTimesOf(units, unitCells, plan);
    const stages = await stagePlanOf(plan, layers, folder);
    const onStage = (done: number, total: number): void =>
      sources.onProgress(unitRuns + done, unitRuns + total, "stages");
    const stageCells = isFinished(kept.stages, plan)
      ? kept.stages
      : await measureStages(stages, out, kept.stages, { ...sources, onProgress: onStage });
    await writeAll(stagesOut(out), stages.plan, stageCells);
    return {
      layers,
      depths: depthTimesOf(stages, stageCells),
      plan: { ...plan, variants: [...plan.variants, ...stages.plan.variants] },
      cells: [...unitCells.slice(0, plan.variants.length), ...stageCells],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Creates a private folder for the parts of models, and removes those of killed runs. */
async function scratchFolder(): Promise<string> {
  const prefix = "stratagem-layers-";
  const folder = join(tmpdir(), ownedName(prefix));
  await mkdir(folder, { mode: 0o700 });
  await removeLeftOvers(tmpdir(), prefix, (await stat(folder)).mtimeMs);
  return folder;
}

/** Returns the paths of partial measurements. */
export function layerPartials(out: string): string[] {
  return [partialPath(unitsOut(out)), partialPath(stagesOut(out))];
}

/** Removes partial measurements. */
export async function removePartials(out: string): Promise<void> {
  for (const path of layerPartials(out)) await rm(path, { force: true });
}

/** Counts the runs of layers, and the most runs that stages can take. */
export function layerRunCounts(plan: ProfilePlan): {
  readonly layers: number;
  readonly mostStages: number;
} {
  const units = plan.variants.reduce((sum, { layers }) => sum + (layers?.layerCount ?? 0), 0);
  const cells = plan.variants.length + EMPTY_COUNT + units;
  return { layers: cells * (WARM_UP_RUNS + plan.repeat), mostStages: mostStageRuns(plan) };
}

const EMPTY_COUNT = 1;

interface KeptRounds {
  readonly units: readonly Cell[] | null;
  readonly stages: readonly Cell[] | null;
}

/** Reads the measurements of an earlier run of the same plan. */
async function keptRounds(
  units: SegmentPlan,
  plan: ProfilePlan,
  out: string,
  takeFinished: boolean,
  folder: string,
): Promise<KeptRounds> {
  const unitCells = await readRounds(unitsOut(out), units.plan);
  if (!isFinished(unitCells, plan)) return { units: unitCells, stages: null };
  const layers = layerTimesOf(units, unitCells, plan);
  const { plan: stagePlan } = await stagePlanOf(plan, layers, folder);
  const stageCells = await readRounds(stagesOut(out), stagePlan);
  // A complete file that still exists was refused as noisy, so it is measured again.
  const isRefused = isFinished(stageCells, plan) && !takeFinished;
  return isRefused ? { units: null, stages: null } : { units: unitCells, stages: stageCells };
}

/**
 * Reads rounds that an earlier run finished; rounds that are compared must be measured together.
 */
async function readRounds(out: string, plan: ProfilePlan): Promise<readonly Cell[] | null> {
  const partial = await readPartial(out, plan);
  return partial === null ? null : evenCells(partial.cells);
}

function writeAll(out: string, plan: ProfilePlan, cells: readonly Cell[]): Promise<void> {
  return writePartial(out, plan, { cells, spentMs: 0, isRefused: false });
}

function isFinished(
  cells: readonly Cell[] | null,
  { repeat }: ProfilePlan,
): cells is readonly Cell[] {
  return cells?.every(({ wallMs }) => wallMs.length === repeat) ?? false;
}

function unitsOut(out: string): string {
  return `${out}.layers`;
}

function stagesOut(out: string): string {
  return `${out}.stages`;
}

function measure(
  segments: SegmentPlan,
  out: string,
  earlier: readonly Cell[] | null,
  sources: RoundSources,
  options: Omit<RoundOptions, "prepare"> = {},
): Promise<readonly Cell[]> {
  const prepare: RoundOptions["prepare"] = (worker) => segmentInputs(worker, segments);
  const kept = earlier === null ? null : { cells: earlier, spentMs: 0 };
  return measureRounds(segments.plan, out, kept, sources, { ...options, prepare });
}

function measureStages(
  stages: StagePlan,
  out: string,
  earlier: readonly Cell[] | null,
  sources: RoundSources,
): Promise<readonly Cell[]> {
  return measure(stages, stagesOut(out), earlier, sources, { turns: stageTurns(stages) });
}

/** Plans the whole models, the empty model, and every layer. */
async function planUnits(plan: ProfilePlan, folder: string): Promise<SegmentPlan> {
  const empty = await writtenModel("a model that computes nothing", folder, emptyModel());
  const units = plan.variants.flatMap((variant) =>
    Array.from({ length: variant.layers?.layerCount ?? 0 }, (_, from): Segment => {
      return { name: `${variant.name} layers ${from}-${from + 1}`, variant, from, to: from + 1 };
    }),
  );
  // Only the time matters, so outputs may have any number of rows.
  const wholes = plan.variants.map((variant) => ({ ...variant, outputsAreRows: false }));
  return planSegments({ ...plan, variants: [...wholes, empty] }, units, folder);
}

function stagePlanOf(
  plan: ProfilePlan,
  layers: readonly LayerTimes[],
  folder: string,
): Promise<StagePlan> {
  const cuts = layers.map((one) => one.cuts);
  return planStages(plan, cuts, folder);
}

/** @param cells of the plan of the units. */
function layerTimesOf(
  { segments }: SegmentPlan,
  cells: readonly Cell[],
  plan: ProfilePlan,
): LayerTimes[] {
  const { variants, maxDepth } = plan;
  const empty = cells[variants.length];
  const unitCells = cells.slice(variants.length + EMPTY_COUNT);
  return variants.map((variant, index) => {
    const whole = cells[index];
    assert(whole !== undefined && empty !== undefined, "a plan is measured as a whole");
    const own = unitCells.filter((_, unit) => segments[unit]?.variant === variant);
    const unitMs = own.map(({ workerMs }) => quantilesOf(workerMs).p50);
    const wholeMs = quantilesOf(whole.workerMs).p50;
    const emptyMs = quantilesOf(empty.workerMs).p50;
    const layerMs = layerTimes({ unitMs, wholeMs, emptyMs }).map(rounded);
    const waysMs = whole.wallMs.map((ms, run) => Math.max(0, ms - (whole.workerMs[run] ?? 0)));
    return {
      variant: variant.name,
      names: variant.layers?.layerNames ?? [],
      unitMs,
      wholeMs,
      emptyMs,
      layerMs,
      overheadMs: quantilesOf(waysMs).p50,
      cuts: layerPartitions(layerMs, maxDepth),
    };
  });
}

/** Returns layer sections of the profile, by variant. */
export function layerSpecs({
  layers,
  depths,
}: Pick<MeasuredLayers, "layers" | "depths">): Map<string, LayersSpec> {
  return new Map(
    layers.map(({ variant, layerMs, overheadMs }) => {
      const stages = longestStages(depths, variant);
      const rows = stages.map(({ from, to, wallMs, samples }) => {
        return [`${from}-${to}`, { ...wallMs, samples }] as const;
      });
      return [variant, { ms: [...layerMs], overheadMs, stages: Object.fromEntries(rows) }];
    }),
  );
}
