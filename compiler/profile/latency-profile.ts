/** Converts measured runs to a latency profile and a description of the measurement. */
import {
  bucketNames,
  descriptionText,
  type MeasuredDevice,
  type ModelFile,
} from "stratagem-runtime/internal/bundle/schema";
import { modelDigest } from "../model/model-files.ts";
import { type PercentileInterval, percentileIntervals } from "../numeric/quantile-interval.ts";
import { LatencySample } from "../simulate/latency-sample.ts";
import type {
  LayersSpec,
  ProfileSpec,
  VariantMeasurements,
} from "../spec/schema/profile-schema.ts";
import { outlooksOf } from "./budget.ts";
import type { Machine } from "./machine.ts";
import { type Cell, WARM_UP_RUNS } from "./measure.ts";
import { cellNoise, type MachineNoise, machineNoise, type P95Interval } from "./noise.ts";
import { inputsText, type ProfilePlan } from "./profile-plan.ts";

export interface Quantiles {
  readonly p50: number;
  /** Left out by fewer than 20 runs. */
  readonly p95?: number;
  /** Left out by fewer than 100 runs. */
  readonly p99?: number;
  /** Longest run; left out beside p99. */
  readonly max?: number;
  readonly mean: number;
}

type StartsByVariant = ReadonlyMap<string, Pick<VariantMeasurements, "start" | "fallback">>;

/** Record of how a profile was measured, with the processor time of the same runs. */
export interface Measurement {
  readonly format: "latency-measurement/1";
  readonly machine: Machine;
  readonly device: string;
  /** Threads per batch; if several numbers of cores were measured, the first of them. */
  readonly threads: number;
  readonly seed: number;
  /** Requested runs of each cell; noisy cells have more. */
  readonly repeat: number;
  /** Fewest warm-up runs of each cell. */
  readonly warmUpRuns: number;
  readonly modelSha256ByVariant: Readonly<Record<string, string>>;
  /** Time budget; null for no limit. */
  readonly budgetMs: number | null;
  readonly noise: MachineNoise;
  readonly cells: readonly CellMeasurement[];
  readonly notMeasured: readonly UnmeasuredCell[];
}

/** Cell that was not measured for lack of time. */
export interface UnmeasuredCell {
  readonly variant: string;
  readonly batch: number;
  readonly cores: number;
  /** Row sizes; left out of models without size buckets. */
  readonly bucket?: string;
  /** Estimate from neighbouring cells, and its relative error. */
  readonly predictedMs: number;
  readonly predictedError: number;
}

interface CellMeasurement {
  readonly variant: string;
  readonly batch: number;
  readonly cores: number;
  /** Row sizes; left out of models without size buckets. */
  readonly bucket?: string;
  readonly samples: number;
  /** (p95 + 0.5 ms) ÷ (p50 + 0.5 ms) of the wall time. */
  readonly noise: number;
  readonly p95Interval: P95Interval;
  /** 99 % interval of the wall time's p99, ms; left out with many runs. */
  readonly p99Interval?: PercentileInterval;
  readonly drift: number;
  readonly isNoisy: boolean;
  readonly wallMs: Quantiles;
  readonly workerMs: Quantiles;
  readonly cpuMs: Quantiles;
}

/**
 * Builds the profile.
 * @param cells of the plan; cells without runs are left out. Each variant has at least one measured
 * cell on the first number of cores.
 * @param layersOf layer measurements by variant name.
 * @param startOf start measurements by variant name.
 */
export function latencyProfile(
  plan: ProfilePlan,
  cells: readonly Cell[],
  layersOf: ReadonlyMap<string, LayersSpec> = new Map(),
  startOf: StartsByVariant = new Map(),
): ProfileSpec {
  const { task, hardware, cores, isByCores, device, on, measuredOn } = plan;
  const options = Object.entries(on?.options ?? {}).map(([name, value]) => {
    return [name, typeof value === "object" ? [...value] : value] as const;
  });
  const scaled = layersOf.size === 0 ? "" : " (layers: inside it, scaled to the whole)";
  const source =
    `stratagem profile: wall time around a worker${scaled}, ` +
    `${runsText(cells)} each after ${WARM_UP_RUNS} or more to warm up, ${threadsText(plan)}, ` +
    `on ${inputsText(plan)}, device ${deviceText(device, measuredOn)}${whereText(plan)}`;
  return {
    format: "latency-profile/1",
    ...(task === null ? {} : { task }),
    hardware,
    device: { ...measuredOn, ...(options.length > 0 && { options: Object.fromEntries(options) }) },
    ...(plan.urls === undefined ? {} : { includesWay: true as const }),
    source,
    variants: Object.fromEntries(
      plan.variants.map(({ name, accuracy, model, precision }) => {
        const all = cells.filter(({ variant, wallMs }) => variant === name && wallMs.length > 0);
        const names = bucketNames(model.buckets);
        const ofBucket = (index: number) => all.filter(({ bucket = 0 }) => bucket === index);
        // A reader that ignores buckets pads every row to the largest.
        const own = ofBucket(Math.max(0, names.length - 1));
        const byBucket = names.map((key, index) => [key, rowsOf(ofBucket(index), cores[0])]);
        const layers = layersOf.get(name);
        const started = startOf.get(name);
        const byCores = cores
          .filter((count) => own.some((cell) => cell.cores === count))
          .map((count) => [count, rowsOf(own, count)] as const);
        return [
          name,
          {
            ...(accuracy === null ? {} : { accuracy }),
            ...modelPart(model),
            ...(precision === undefined ? {} : { precision }),
            latencyMs: rowsOf(own, cores[0]),
            ...(names.length === 0 ? {} : { byBucket: Object.fromEntries(byBucket) }),
            ...(isByCores ? { byCores: Object.fromEntries(byCores) } : {}),
            ...(layers === undefined ? {} : { layers }),
            ...(started?.start && { start: started.start }),
            ...(started?.fallback && { fallback: started.fallback }),
          },
        ];
      }),
    ),
  };
}

function modelPart(model: ModelFile): Pick<VariantMeasurements, "modelSha256"> {
  const modelSha256 = modelDigest(model);
  return modelSha256 === null ? {} : { modelSha256 };
}

/** Formats `30 runs`, or `30 to 412 runs` if cells differ. */
function runsText(cells: readonly Cell[]): string {
  const counts = cells.map(({ wallMs }) => wallMs.length).filter((count) => count > 0);
  const [fewest, most] = [Math.min(...counts), Math.max(...counts)];
  return fewest === most ? `${fewest} runs` : `${fewest} to ${most} runs`;
}

/** Describes the machine or server that ran the models. */
function whereText({ machine, urls }: ProfilePlan): string {
  const { processor, cores, quota, nodeVersion, onnxruntimeVersion } = machine;
  const allowed = quota === null ? "" : `, ${quota}`;
  const own = `${processor}, ${cores} cores${allowed}, Node ${nodeVersion}`;
  if (urls === undefined) return `${own}, onnxruntime ${onnxruntimeVersion}`;
  return `of ${urls[0]}, its way from here included: ${own}`;
}

/** Names the device, with its description unless it is the CPU. */
function deviceText(device: ProfilePlan["device"], measuredOn: MeasuredDevice): string {
  return device === "cpu" ? "cpu, " : `${device} (${descriptionText(measuredOn)}), `;
}

function threadsText({ cores, isByCores }: ProfilePlan): string {
  if (isByCores) return `on ${cores.join(", ")} cores, latencyMs on ${cores[0]}`;
  return cores[0] === 1 ? "1 thread" : `${cores[0]} threads`;
}

/** @param cells of one variant. */
function rowsOf(cells: readonly Cell[], cores: number) {
  return Object.fromEntries(
    cells
      .filter((cell) => cell.cores === cores)
      .map((cell) => [
        cell.batch,
        { ...quantilesOf(serviceTimes(cell)), samples: cell.wallMs.length },
      ]),
  );
}

/** Runs among which the shortest transfer counts, as for a server that measures its batches. */
const WAY_GROUP = 16;

/**
 * Returns service times as a server measures them: time in the worker, and the typical transfer.
 * Longer transfers are waiting, which the serving path accounts for.
 */
function serviceTimes({ wallMs, workerMs }: Cell): number[] {
  const waysMs = wallMs.map((ms, run) => Math.max(0, ms - (workerMs[run] ?? 0)));
  const groups = Math.max(1, Math.floor(waysMs.length / WAY_GROUP));
  let sumMs = 0;
  for (let group = 0; group < groups; group++) {
    sumMs += Math.min(...waysMs.slice(group * WAY_GROUP, (group + 1) * WAY_GROUP));
  }
  return wallMs.map((_, run) => (workerMs[run] ?? 0) + sumMs / groups);
}

/**
 * Describes how the cells were measured.
 * @param cells of the plan, at least one with runs.
 * @param budgetMs time budget; null for no limit.
 * @param judgesCells whether noisy cells make the machine too noisy. If a budget chose the number
 * of runs, noisy cells are only reported.
 */
export function describeMeasurement(
  plan: ProfilePlan,
  cells: readonly Cell[],
  budgetMs: number | null,
  judgesCells: boolean,
): Measurement {
  const { machine, device, cores, seed, repeat } = plan;
  const judged = cells
    .filter(({ wallMs }) => wallMs.length > 0)
    .map((cell) => ({ cell, noise: cellNoise(cell.wallMs) }));
  return {
    format: "latency-measurement/1",
    machine,
    device,
    threads: cores[0],
    seed,
    repeat,
    warmUpRuns: WARM_UP_RUNS,
    modelSha256ByVariant: Object.fromEntries(
      plan.variants.map(({ name, model }) => [name, model.sha256]),
    ),
    budgetMs,
    noise: machineNoise(judged, device, judgesCells, ({ variant, cpuMs }) => {
      // Servers of other makers do not report processor time.
      if (plan.urls !== undefined && cpuMs.every((ms) => ms === 0)) return true;
      return plan.variants.some(({ name, host }) => name === variant && host !== undefined);
    }),
    cells: judged.map(({ cell, noise: { tail, p95Interval, drift, isNoisy } }) => ({
      variant: cell.variant,
      batch: cell.batch,
      cores: cell.cores,
      ...sizesOf(plan, cell),
      samples: cell.wallMs.length,
      noise: tail,
      p95Interval,
      ...p99IntervalOf(cell.wallMs),
      drift,
      isNoisy,
      wallMs: quantilesOf(cell.wallMs),
      workerMs: quantilesOf(cell.workerMs),
      cpuMs: quantilesOf(cell.cpuMs),
    })),
    notMeasured: unmeasuredCells(plan, cells),
  };
}

/** Describes the row sizes of a cell. */
function sizesOf(
  { variants }: ProfilePlan,
  { variant, bucket = 0 }: Cell,
): { readonly bucket?: string } {
  const names = bucketNames(variants.find(({ name }) => name === variant)?.model.buckets);
  const name = names[bucket];
  return name === undefined ? {} : { bucket: name };
}

function unmeasuredCells(plan: ProfilePlan, cells: readonly Cell[]): UnmeasuredCell[] {
  const outlooks = outlooksOf(cells);
  return [...cells.entries()]
    .filter(([, { wallMs }]) => wallMs.length === 0)
    .map(([index, cell]): UnmeasuredCell => {
      const { variant, batch, cores } = cell;
      const { costMs = 0, error = 1 } = outlooks[index] ?? {};
      const own = { variant, batch, cores, ...sizesOf(plan, cell) };
      return { ...own, predictedMs: rounded(costMs), predictedError: error };
    });
}

/** Fewest runs of which the nearest rank of a percentile is not the longest by necessity. */
const FEWEST_RUNS = { p95: 20, p99: 100 } as const;

/** Nearest ranks, rounded to a nanosecond. */
export function quantilesOf(times: readonly number[]): Quantiles {
  const sample = new LatencySample();
  for (const time of times) sample.record(time);
  const { p50 = 0, p95 = 0, p99 = 0, max = 0, mean = 0 } = sample.summary() ?? {};
  return {
    p50: rounded(p50),
    ...(times.length < FEWEST_RUNS.p95 ? {} : { p95: rounded(p95) }),
    ...(times.length < FEWEST_RUNS.p99 ? { max: rounded(max) } : { p99: rounded(p99) }),
    mean: rounded(mean),
  };
}

function p99IntervalOf(wallMs: readonly number[]): Pick<CellMeasurement, "p99Interval"> {
  const intervals = percentileIntervals(Float64Array.from(wallMs), 1);
  return intervals === null ? {} : { p99Interval: intervals.p99 };
}

/** Rounds to a nanosecond. */
export function rounded(ms: number): number {
  return Math.round(ms * 1e6) / 1e6;
}
