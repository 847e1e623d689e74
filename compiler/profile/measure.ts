/** Runs variants at batch sizes on numbers of cores and records the times. */

import { bucketCount } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import {
  type Batch,
  type BatchResult,
  InferenceError,
  WorkerLostError,
} from "stratagem-runtime/internal/exec/models/executor";
import { randomInputs, sizedInputs } from "../onnx/batch-inputs.ts";
import { InputError } from "../spec/document/input-error.ts";
import type { PlannedVariant, ProfilePlan } from "./profile-plan.ts";
import type { ProfiledWorker } from "./profiled-worker.ts";

/** One variant at one batch size on one number of cores. */
export interface Cell {
  readonly variant: string;
  readonly batch: number;
  readonly cores: number;
  /** Index of the bucket of row sizes; 0 if left out. */
  readonly bucket?: number;
  /**
   * Wall time of every run in order, as the caller of the worker measured it: the latency in
   * service, including transfer to the worker and back.
   */
  readonly wallMs: readonly number[];
  /** Time of the same runs inside the worker. */
  readonly workerMs: readonly number[];
  /** Processor time of the same runs, over all threads of the worker. */
  readonly cpuMs: readonly number[];
}

/**
 * Returns the bytes of every input for a batch.
 * @param variant index in the plan. @param run of the cell, counted from 0.
 */
export type InputsOf = (
  variant: number,
  batch: number,
  bucket: number,
  run?: number,
) => readonly Uint8Array[];

/** Run of a cell, by index. */
interface TurnRun {
  readonly cell: number;
  readonly worker: number;
  /**
   * False if it only keeps a worker busy beside the others of its turn, and its own time is
   * measured in another turn.
   */
  readonly isKept: boolean;
}

/**
 * Runs that begin at the same time, each on its own worker and all on the same number of cores; the
 * next turn begins after the last of them.
 */
export type Turn = readonly TurnRun[];

export interface BenchOptions {
  /** Workers with the first number of cores of the plan. */
  readonly workers: readonly ProfiledWorker[];
  /** Cells of an earlier run to continue; null to begin. */
  readonly earlier: readonly Cell[] | null;
  readonly inputsOf: InputsOf;
  /** Called with the outputs of a variant's warm-up runs. */
  readonly onOutputs?: (variant: number, outputs: BatchResult["outputs"]) => void;
  readonly signal: AbortSignal;
  /** Monotonic clock. */
  readonly nowMs: () => number;
}

/**
 * Fewest warm-up runs of a cell, which are discarded: the first takes up to 2.4 times as long as
 * the rest.
 */
export const WARM_UP_RUNS = 2;

/** Cell of a plan, by the index of its variant. */
interface PlannedCell {
  readonly variant: number;
  readonly batch: number;
  readonly cores: number;
  /** 0 if left out. */
  readonly bucket?: number;
}

/** Lists the cells by cores, variant, bucket and batch. */
export function plannedCells({ cores, variants }: ProfilePlan): PlannedCell[] {
  return cores.flatMap((count) =>
    variants.flatMap(({ model, batches }, variant) =>
      bucketsOf(model).flatMap((bucket) =>
        batches.map((batch) => ({ variant, batch, cores: count, ...bucket })),
      ),
    ),
  );
}

/** Returns the bucket field of cells for each bucket of a model; left out for the first. */
function bucketsOf({ buckets }: PlannedVariant["model"]): { readonly bucket?: number }[] {
  return Array.from({ length: bucketCount(buckets) }, (_, bucket) =>
    bucket === 0 ? {} : { bucket },
  );
}

/** Counts the runs of a plan without extra runs, including the warm-up. */
export function runCountOf(plan: ProfilePlan): number {
  return plannedCells(plan).length * (WARM_UP_RUNS + plan.repeat);
}

/** Returns a turn of one cell on the only worker. */
export function turnOf(cell: number): Turn {
  return [{ cell, worker: 0, isKept: true }];
}

/** Cells of a plan with the workers that run them. */
export class Bench {
  /** In the order of `plannedCells`. */
  readonly cells: readonly Cell[];
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
  readonly #cells: readonly OpenCell[];
  readonly #workers: readonly ProfiledWorker[];
  readonly #onOutputs: NonNullable<BenchOptions["onOutputs"]>;
  #coresNow: number;

  constructor(plan: ProfilePlan, options: BenchOptions) {
    const { workers, earlier, inputsOf, onOutputs, signal, nowMs } = options;
    this.#cells = openCells(plan, earlier, inputsOf);
    this.cells = this.#cells;
    this.#workers = workers;
    this.#onOutputs = onOutputs ?? (() => {});
    this.#coresNow = plan.cores[0];
    this.signal = signal;
    this.nowMs = nowMs;
  }

  /**
   * Runs a turn, after changing the workers' cores if it needs a different number.
   * @throws InputError if a model refuses a batch or crashes the worker; the signal's reason.
   */
  async run(turn: Turn, isKept: boolean): Promise<void> {
    this.signal.throwIfAborted();
    const open = turn.map((run) => this.#open(run));
    const cores = open[0]?.cell.cores ?? this.#coresNow;
    if (cores !== this.#coresNow) {
      await Promise.all(this.#workers.map((worker) => worker.resize(cores)));
    }
    this.#coresNow = cores;
    const results = await Promise.all(
      open.map((run) => measureRun(run, isKept && run.isKept, this.nowMs)),
    );
    if (isKept) return;
    for (const [index, { outputs }] of results.entries()) {
      this.#onOutputs(open[index]?.cell.index ?? 0, outputs);
    }
  }

  #open({ cell: index, worker: place, isKept }: TurnRun): OpenRun {
    const [cell, worker] = [this.#cells[index], this.#workers[place]];
    assert(cell !== undefined && worker !== undefined, "a turn is of cells and workers there are");
    return { cell, worker, isKept };
  }
}

interface OpenRun {
  readonly cell: OpenCell;
  readonly worker: ProfiledWorker;
  readonly isKept: boolean;
}

async function measureRun(
  { cell, worker }: OpenRun,
  isKept: boolean,
  nowMs: () => number,
): Promise<BatchResult> {
  const batch = cell.next();
  const startMs = nowMs();
  const result = await runBatch(worker, cell.variant, batch);
  const endMs = nowMs();
  const { wallMs, cpuMs, cores } = result;
  assert(cores === cell.cores, "a batch runs on the cores it is measured for");
  if (!isKept) return result;
  cell.wallMs.push(endMs - startMs);
  cell.workerMs.push(wallMs);
  cell.cpuMs.push(cpuMs);
  return result;
}

interface OpenCell extends Cell {
  /** Index of its variant. */
  readonly index: number;
  /** Returns the batch of its next run. */
  readonly next: () => Batch;
  readonly wallMs: number[];
  readonly workerMs: number[];
  readonly cpuMs: number[];
}

/**
 * Returns the plan's rows; else the inputs that modules provide, or random inputs from the seed.
 * Rows have the largest size.
 */
export function plannedInputsOf({ variants, seed }: ProfilePlan): InputsOf {
  return (variant, batch, bucket, run = 0) => {
    const model = variants[variant]?.model;
    assert(model !== undefined, "inputs are of a variant of the plan");
    const rows = variants[variant]?.rows;
    const isLargest = bucket === bucketCount(model.buckets) - 1;
    if (rows !== undefined && isLargest) return rows.inputs(run, batch);
    const samples = variants[variant]?.samples?.get(batch);
    return samples ?? randomInputs(sizedInputs(model, bucket), batch, seed);
  };
}

function openCells(
  plan: ProfilePlan,
  earlier: readonly Cell[] | null,
  inputsOf: InputsOf,
): OpenCell[] {
  // Cells of a variant on several numbers of cores share inputs that do not change.
  const shared = new Map<string, Batch>();
  const batchOf = (variant: number, rows: number, bucket: number | undefined, run: number) => {
    const inputs = inputsOf(variant, rows, bucket ?? 0, run).map((bytes) => [bytes]);
    return { variant, rows, inputs, ...(bucket === undefined ? {} : { bucket }) };
  };
  return plannedCells(plan).map(({ variant: index, batch, cores, bucket }): OpenCell => {
    const variant = plan.variants[index]?.name;
    assert(variant !== undefined, "a cell is of a variant of the plan");
    const key = `${index} ${bucket ?? 0} ${batch}`;
    const first = shared.get(key) ?? batchOf(index, batch, bucket, 0);
    shared.set(key, first);
    let run = 0;
    const changes = plan.variants[index]?.rows !== undefined;
    const next = () => (changes ? batchOf(index, batch, bucket, run++) : first);
    const known = earlier?.find(
      (cell) =>
        cell.variant === variant &&
        cell.batch === batch &&
        cell.cores === cores &&
        cell.bucket === bucket,
    );
    return {
      ...{ variant, batch, cores, index, next },
      ...(bucket === undefined ? {} : { bucket }),
      wallMs: [...(known?.wallMs ?? [])],
      workerMs: [...(known?.workerMs ?? [])],
      cpuMs: [...(known?.cpuMs ?? [])],
    };
  });
}

/** @throws InputError naming the variant if it refuses the batch or crashes the worker. */
export async function runBatch(
  worker: Pick<ProfiledWorker, "run">,
  variant: string,
  batch: Batch,
): Promise<BatchResult> {
  try {
    return await worker.run(batch);
  } catch (error) {
    if (!(error instanceof InferenceError || error instanceof WorkerLostError)) throw error;
    const message =
      `${variant} at batch ${batch.rows}: expected a model that runs, ` + `got ${error.message}`;
    throw new InputError("INPUT_INVALID_VALUE", message);
  }
}
