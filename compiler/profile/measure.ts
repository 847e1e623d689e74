/** Runs every variant at every batch size on every number of cores and notes how long it took. */
import { assert } from "stratagem-runtime/internal/core/assert";
import {
  type Batch,
  type BatchResult,
  InferenceError,
  WorkerLostError,
} from "stratagem-runtime/internal/exec/executor";
import { randomInputs } from "../onnx/batch-inputs.ts";
import { InputError } from "../spec/input-error.ts";
import { withRemedy } from "./model-limits.ts";
import type { ProfilePlan } from "./profile-plan.ts";
import type { ProfiledWorker } from "./profiled-worker.ts";

/** One variant at one batch size on one number of cores. */
export interface Cell {
  readonly variant: string;
  readonly batch: number;
  readonly cores: number;
  /**
   * Of every run in its order, as the caller of the worker saw it: what serving pays, the way to
   * the worker and back included.
   */
  readonly wallMs: readonly number[];
  /** Of the same runs, inside the worker alone. */
  readonly workerMs: readonly number[];
  /** Of the same runs, processor time of the worker over all threads. */
  readonly cpuMs: readonly number[];
}

/** Bytes of every input of the variant of an index in the plan, for a batch. */
export type InputsOf = (variant: number, batch: number) => readonly Uint8Array[];

/** A run of a cell, by its index. */
interface TurnRun {
  readonly cell: number;
  readonly worker: number;
  /**
   * False where it is only company for the others of its turn, and its own time is taken in
   * another.
   */
  readonly isKept: boolean;
}

/**
 * Runs that begin at the same time, each on a worker of its own and all on as many cores; the next
 * turn begins once the last of them has ended.
 */
export type Turn = readonly TurnRun[];

export interface MeasureOptions {
  /** They have the first number of cores of the plan. */
  readonly workers: readonly ProfiledWorker[];
  /** Of a round: they keep one run of each cell. */
  readonly turns: readonly Turn[];
  /** Cells of an earlier run to go on from, all with the same number of runs; null to begin. */
  readonly earlier: readonly Cell[] | null;
  readonly inputsOf: InputsOf;
  /** Called with what the warm-up runs of a variant gave, by its index. */
  readonly onOutputs?: (variant: number, outputs: BatchResult["outputs"]) => void;
  /** Called after each round, when all cells have the same number of runs. */
  readonly onRound: (cells: readonly Cell[]) => Promise<void>;
  readonly onProgress: (done: number, total: number) => void;
  readonly signal: AbortSignal;
  /** A monotonic clock. */
  readonly nowMs: () => number;
}

/**
 * Runs of every cell whose time is not kept: the first takes up to 2.4 times as long as the rest.
 */
export const WARM_UP_RUNS = 2;

/** Runs that a plan takes whose cells run alone, the warm-up included. */
export function runCountOf(plan: ProfilePlan): number {
  return cellCountOf(plan) * (WARM_UP_RUNS + plan.repeat);
}

/** Every cell by itself, on one worker. */
export function inTurns(plan: ProfilePlan): Turn[] {
  return Array.from({ length: cellCountOf(plan) }, (_, cell) => [
    { cell, worker: 0, isKept: true },
  ]);
}

/** Index of the variant of a cell. */
export function variantOf({ variants, batches }: ProfilePlan, cell: number): number {
  return Math.floor(cell / batches.length) % variants.length;
}

export function cellCountOf({ cores, variants, batches }: ProfilePlan): number {
  return cores.length * variants.length * batches.length;
}

/**
 * Measures round by round, each round one run of every cell, so that what drifts drifts for all
 * alike. Workers change their cores between turns, once for each number of them in a round.
 * @returns the cells with `plan.repeat` runs each.
 * @throws InputError when a model refuses a batch or takes the worker with it; the signal's reason.
 */
export async function measureCells(
  plan: ProfilePlan,
  options: MeasureOptions,
): Promise<readonly Cell[]> {
  const { workers, earlier, inputsOf, onRound, onProgress, signal, nowMs } = options;
  const onOutputs = options.onOutputs ?? (() => {});
  const cells = cellsOf(plan, earlier, inputsOf);
  const turns = options.turns.map((turn) => openTurn(turn, cells, workers));
  const runCount = turns.reduce((sum, turn) => sum + turn.length, 0);
  const roundsBefore = cells[0]?.wallMs.length ?? 0;
  // Without the runs of before, so that the time left can be told from the time these take.
  const total = (WARM_UP_RUNS + plan.repeat - roundsBefore) * runCount;
  let done = 0;
  let [coresNow] = plan.cores;
  const runAll = async (isKept: boolean): Promise<void> => {
    for (const turn of turns) {
      signal.throwIfAborted();
      const cores = turn[0]?.cell.cores ?? coresNow;
      if (cores !== coresNow) await Promise.all(workers.map((worker) => worker.resize(cores)));
      coresNow = cores;
      const results = await Promise.all(
        turn.map((run) => measureRun(run, isKept && run.isKept, nowMs)),
      );
      if (!isKept) {
        for (const [index, { outputs }] of results.entries()) {
          onOutputs(turn[index]?.cell.run.variant ?? 0, outputs);
        }
      }
      for (let run = 0; run < turn.length; run++) onProgress(++done, total);
    }
  };
  for (let run = 0; run < WARM_UP_RUNS; run++) await runAll(false);
  for (let round = roundsBefore; round < plan.repeat; round++) {
    await runAll(true);
    await onRound(cells);
  }
  return cells;
}

/** A run of a turn, with what it is of. */
interface OpenRun {
  readonly cell: OpenCell;
  readonly worker: ProfiledWorker;
  readonly isKept: boolean;
}

function openTurn(
  turn: Turn,
  cells: readonly OpenCell[],
  workers: readonly ProfiledWorker[],
): OpenRun[] {
  return turn.map(({ cell: index, worker: place, isKept }) => {
    const [cell, worker] = [cells[index], workers[place]];
    assert(cell !== undefined && worker !== undefined, "a turn is of cells and workers there are");
    return { cell, worker, isKept };
  });
}

async function measureRun(
  { cell, worker }: OpenRun,
  isKept: boolean,
  nowMs: () => number,
): Promise<BatchResult> {
  const startMs = nowMs();
  const result = await runBatch(worker, cell.variant, cell.run);
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
  readonly run: Batch;
  readonly wallMs: number[];
  readonly workerMs: number[];
  readonly cpuMs: number[];
}

/** Inputs that modules have for it, else random ones, of the seed of the plan. */
export function randomInputsOf({ variants, seed }: ProfilePlan): InputsOf {
  return (variant, batch) => {
    const model = variants[variant]?.model;
    assert(model !== undefined, "inputs are of a variant of the plan");
    return variants[variant]?.samples?.get(batch) ?? randomInputs(model, batch, seed);
  };
}

function cellsOf(
  plan: ProfilePlan,
  earlier: readonly Cell[] | null,
  inputsOf: InputsOf,
): OpenCell[] {
  const runsOf = plan.variants.map((_, variant) =>
    plan.batches.map((rows): Batch => {
      return { variant, rows, inputs: inputsOf(variant, rows).map((bytes) => [bytes]) };
    }),
  );
  return plan.cores.flatMap((cores) =>
    plan.variants.flatMap(({ name: variant }, variantIndex) =>
      (runsOf[variantIndex] ?? []).map((run): OpenCell => {
        const known = earlier?.find(
          (cell) => cell.variant === variant && cell.batch === run.rows && cell.cores === cores,
        );
        return {
          variant,
          batch: run.rows,
          cores,
          run,
          wallMs: [...(known?.wallMs ?? [])],
          workerMs: [...(known?.workerMs ?? [])],
          cpuMs: [...(known?.cpuMs ?? [])],
        };
      }),
    ),
  );
}

/** @throws InputError naming the variant if it refuses the batch or takes the worker with it. */
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
      `${variant} at batch ${batch.rows}: expected a model that runs, ` +
      `got ${withRemedy(error.message)}`;
    throw new InputError("INPUT_INVALID_VALUE", message);
  }
}
