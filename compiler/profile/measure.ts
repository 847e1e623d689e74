/** Runs every variant at every batch size and notes how long it took. */
import { type Executor, InferenceError, WorkerLostError } from "../../runtime/exec/executor.ts";
import { InputError } from "../spec/input-error.ts";
import { randomInputs } from "./batch-inputs.ts";
import type { ProfilePlan } from "./profile-plan.ts";

/** One variant at one batch size. */
export interface Cell {
  readonly variant: string;
  readonly batch: number;
  /** Of every run in its order, as the caller of the executor saw it: what serving pays, the way to the worker and back included. */
  readonly wallMs: readonly number[];
  /** Of the same runs, inside the worker alone. */
  readonly workerMs: readonly number[];
  /** Of the same runs, processor time of the worker over all threads. */
  readonly cpuMs: readonly number[];
}

export interface MeasureOptions {
  /** With at least one worker that is ready; the variants are those of the plan in its order. */
  readonly executor: Pick<Executor, "run">;
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
export function runCountOf({ variants, batches, repeat }: ProfilePlan): number {
  return variants.length * batches.length * (WARM_UP_RUNS + repeat);
}

/**
 * Measures round by round, each round one run of every cell, so that what drifts drifts for all alike. @returns the cells with
 * `plan.repeat` runs each. @throws InputError when a model refuses a batch or takes the worker with it; the signal's reason.
 */
export async function measureCells(
  plan: ProfilePlan,
  { executor, earlier, onRound, onProgress, signal, nowMs }: MeasureOptions,
): Promise<readonly Cell[]> {
  const cells = cellsOf(plan, earlier);
  const roundsBefore = cells[0]?.wallMs.length ?? 0;
  // Without the runs of before, so that the time left can be told from the time these take.
  const total = runCountOf(plan) - roundsBefore * cells.length;
  let done = 0;
  const runAll = async (isKept: boolean): Promise<void> => {
    for (const cell of cells) {
      signal.throwIfAborted();
      const startMs = nowMs();
      const { wallMs, cpuMs } = await runCell(executor, cell);
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
  return plan.variants.flatMap(({ name, model }, variantIndex) =>
    plan.batches.map((batch): OpenCell => {
      const known = earlier?.find((cell) => cell.variant === name && cell.batch === batch);
      return {
        variant: name,
        batch,
        variantIndex,
        inputs: randomInputs(model, batch, plan.seed).map((bytes) => [bytes]),
        wallMs: [...(known?.wallMs ?? [])],
        workerMs: [...(known?.workerMs ?? [])],
        cpuMs: [...(known?.cpuMs ?? [])],
      };
    }),
  );
}

async function runCell(executor: Pick<Executor, "run">, cell: OpenCell) {
  const { variant, variantIndex, batch, inputs } = cell;
  try {
    return await executor.run(0, { variant: variantIndex, rows: batch, inputs });
  } catch (error) {
    if (!(error instanceof InferenceError || error instanceof WorkerLostError)) throw error;
    const message = `${variant} at batch ${batch}: expected a model that runs, got ${error.message}`;
    throw new InputError("INPUT_INVALID_VALUE", message);
  }
}
