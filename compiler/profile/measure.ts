/** Runs every variant at every batch size on every number of cores and notes how long it took. */
import { assert } from "../../runtime/core/assert.ts";
import { InferenceError, WorkerLostError } from "../../runtime/exec/executor.ts";
import { InputError } from "../spec/input-error.ts";
import { randomInputs } from "./batch-inputs.ts";
import type { ProfilePlan } from "./profile-plan.ts";
import type { ProfiledWorker } from "./profiled-worker.ts";

/** One variant at one batch size on one number of cores. */
export interface Cell {
  readonly variant: string;
  readonly batch: number;
  readonly cores: number;
  /** Of every run in its order, as the caller of the worker saw it: what serving pays, the way to the worker and back included. */
  readonly wallMs: readonly number[];
  /** Of the same runs, inside the worker alone. */
  readonly workerMs: readonly number[];
  /** Of the same runs, processor time of the worker over all threads. */
  readonly cpuMs: readonly number[];
}

export interface MeasureOptions {
  /** It has the first number of cores of the plan. */
  readonly worker: Pick<ProfiledWorker, "run" | "resize">;
  /** Cells of an earlier run to go on from, all with the same number of runs; null to begin. */
  readonly earlier: readonly Cell[] | null;
  /** Called after each round, when all cells have the same number of runs. */
  readonly onRound: (cells: readonly Cell[]) => Promise<void>;
  readonly onProgress: (done: number, total: number) => void;
  readonly signal: AbortSignal;
  /** A monotonic clock. */
  readonly nowMs: () => number;
}

/** Runs of every cell whose time is not kept: the first takes up to 2.4 times as long as the rest. */
export const WARM_UP_RUNS = 2;

/** Runs that a plan takes, the warm-up included. */
export function runCountOf(plan: ProfilePlan): number {
  return cellCountOf(plan) * (WARM_UP_RUNS + plan.repeat);
}

export function cellCountOf({ cores, variants, batches }: ProfilePlan): number {
  return cores.length * variants.length * batches.length;
}

/**
 * Measures round by round, each round one run of every cell, so that what drifts drifts for all alike. The worker changes its cores between runs, once for each number of them in a round. @returns the cells with
 * `plan.repeat` runs each. @throws InputError when a model refuses a batch or takes the worker with it; the signal's reason.
 */
export async function measureCells(
  plan: ProfilePlan,
  { worker, earlier, onRound, onProgress, signal, nowMs }: MeasureOptions,
): Promise<readonly Cell[]> {
  const cells = cellsOf(plan, earlier);
  const roundsBefore = cells[0]?.wallMs.length ?? 0;
  // Without the runs of before, so that the time left can be told from the time these take.
  const total = runCountOf(plan) - roundsBefore * cells.length;
  let done = 0;
  let [coresNow] = plan.cores;
  const runAll = async (isKept: boolean): Promise<void> => {
    for (const cell of cells) {
      signal.throwIfAborted();
      if (cell.cores !== coresNow) await worker.resize(cell.cores);
      coresNow = cell.cores;
      const startMs = nowMs();
      const { wallMs, cpuMs, cores } = await runCell(worker, cell);
      assert(cores === cell.cores, "a batch runs on the cores it is measured for");
      if (isKept) {
        cell.wallMs.push(nowMs() - startMs);
        cell.workerMs.push(wallMs);
        cell.cpuMs.push(cpuMs);
      }
      onProgress(++done, total);
    }
  };
  for (let run = 0; run < WARM_UP_RUNS; run++) await runAll(false);
  for (let round = roundsBefore; round < plan.repeat; round++) {
    await runAll(true);
    await onRound(cells);
  }
  return cells;
}

interface OpenCell extends Cell {
  readonly variantIndex: number;
  readonly inputs: readonly (readonly Uint8Array[])[];
  readonly wallMs: number[];
  readonly workerMs: number[];
  readonly cpuMs: number[];
}

function cellsOf(plan: ProfilePlan, earlier: readonly Cell[] | null): OpenCell[] {
  const inputsOf = plan.variants.map(({ model }) =>
    plan.batches.map((batch) => randomInputs(model, batch, plan.seed).map((bytes) => [bytes])),
  );
  return plan.cores.flatMap((cores) =>
    plan.variants.flatMap(({ name: variant }, variantIndex) =>
      plan.batches.map((batch, batchIndex): OpenCell => {
        const known = earlier?.find(
          (cell) => cell.variant === variant && cell.batch === batch && cell.cores === cores,
        );
        return {
          variant,
          batch,
          cores,
          variantIndex,
          inputs: inputsOf[variantIndex]?.[batchIndex] ?? [],
          wallMs: [...(known?.wallMs ?? [])],
          workerMs: [...(known?.workerMs ?? [])],
          cpuMs: [...(known?.cpuMs ?? [])],
        };
      }),
    ),
  );
}

async function runCell(worker: Pick<ProfiledWorker, "run">, cell: OpenCell) {
  const { variant, variantIndex, batch, inputs } = cell;
  try {
    return await worker.run({ variant: variantIndex, rows: batch, inputs });
  } catch (error) {
    if (!(error instanceof InferenceError || error instanceof WorkerLostError)) throw error;
    const message = `${variant} at batch ${batch}: expected a model that runs, got ${error.message}`;
    throw new InputError("INPUT_INVALID_VALUE", message);
  }
}
