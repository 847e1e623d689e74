/** Measures a plan with its own workers, and saves measurements beside the output. */
import { assert } from "stratagem-runtime/internal/core/assert";
import { measureWithin } from "./budget-rounds.ts";
import {
  Bench,
  type BenchOptions,
  type Cell,
  type InputsOf,
  plannedCells,
  plannedInputsOf,
  type Turn,
  turnOf,
} from "./measure.ts";
import { type KeptRuns, writePartial } from "./partial-file.ts";
import type { ProfilePlan } from "./profile-plan.ts";
import { type ProfiledWorker, startWorkers, type WorkerSources } from "./profiled-worker.ts";
import { type Effort, measureInRounds, type RoundsOptions } from "./rounds.ts";

export interface RoundSources
  extends WorkerSources,
    Pick<BenchOptions, "nowMs">,
    Pick<RoundsOptions, "onProgress"> {}

/** Changes to the default: every cell runs alone, in random order, as often as the plan says. */
export interface RoundOptions {
  readonly turns?: readonly Turn[];
  /**
   * Provides the inputs once the workers run; called with a runner that selects a worker with the
   * variant.
   */
  readonly prepare?: (worker: Pick<ProfiledWorker, "run">) => Promise<InputsOf>;
  readonly onOutputs?: BenchOptions["onOutputs"];
  readonly onEstimate?: RoundsOptions["onEstimate"];
  readonly effort?: Effort;
  /**
   * Time budget for the cells that gain most, which run in turns of their own; null to measure all.
   */
  readonly budgetMs?: number | null;
}

/**
 * Shortest time between saves of finished rounds. An interruption saves the rest; a crash loses it.
 */
const SAVE_INTERVAL_MS = 2000;
const NO_EFFORT: Effort = { warmUpMs: 0, extraMs: 0 };

/**
 * @param out path that the partial file is named after.
 * @param earlier measurements of an earlier run to continue.
 * @throws as `Bench.run` and `startWorkers`.
 */
export async function measureRounds(
  plan: ProfilePlan,
  out: string,
  earlier: Pick<KeptRuns, "cells" | "spentMs"> | null,
  surroundings: RoundSources,
  options: RoundOptions = {},
): Promise<readonly Cell[]> {
  const { nowMs, signal, onProgress } = surroundings;
  const { prepare, onOutputs, effort = NO_EFFORT, budgetMs = null } = options;
  const isOrdered = options.turns !== undefined;
  const turns = options.turns ?? plannedCells(plan).map((_, cell) => turnOf(cell));
  signal.throwIfAborted();
  const held = heldBy(turns, plan);
  const { workers, close } = await startWorkers(plan, held, surroundings);
  let savedMs = nowMs();
  let spentMs = earlier?.spentMs ?? 0;
  const save = async (cells: readonly Cell[]): Promise<void> => {
    savedMs = nowMs();
    await writePartial(out, plan, { cells, spentMs, isRefused: false });
  };
  const onRound = async (cells: readonly Cell[], takenMs = 0): Promise<void> => {
    spentMs = takenMs;
    if (nowMs() - savedMs >= SAVE_INTERVAL_MS) await save(cells);
  };
  try {
    const inputsOf = (await prepare?.(anyOf(workers, held))) ?? plannedInputsOf(plan);
    const open = { workers, earlier: earlier?.cells ?? null, inputsOf, signal, nowMs };
    const bench = new Bench(plan, onOutputs === undefined ? open : { ...open, onOutputs });
    const watch = { onRound, onProgress };
    try {
      if (budgetMs === null) {
        const { onEstimate = () => {} } = options;
        await measureInRounds(plan, bench, { turns, isOrdered, effort, onEstimate, ...watch });
      } else {
        const { warmUpMs } = effort;
        await measureWithin(plan, bench, { budgetMs, spentMs, warmUpMs, ...watch });
      }
    } catch (error) {
      const hasRuns = bench.cells.some(({ wallMs }) => wallMs.length > 0);
      if (signal.aborted && hasRuns) await save(bench.cells);
      throw error;
    }
    return bench.cells;
  } finally {
    await close();
  }
}

/** Returns the variants that each worker runs. */
function heldBy(turns: readonly Turn[], plan: ProfilePlan): number[][] {
  const cells = plannedCells(plan);
  const held: Set<number>[] = [];
  for (const { worker, cell } of turns.flat()) {
    const variant = cells[cell]?.variant;
    assert(variant !== undefined, "expected a cell of the plan");
    held[worker] ??= new Set();
    held[worker].add(variant);
  }
  return held.map((variants) => [...variants].sort((a, b) => a - b));
}

/** Runs a batch on a worker that holds its variant. */
function anyOf(
  workers: readonly ProfiledWorker[],
  held: readonly (readonly number[])[],
): Pick<ProfiledWorker, "run"> {
  return {
    run: async (batch) => {
      const worker = workers[held.findIndex((variants) => variants.includes(batch.variant))];
      assert(worker !== undefined, "expected a worker for every variant");
      return worker.run(batch);
    },
  };
}
