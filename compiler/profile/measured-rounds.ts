/**
 * Measures a plan with workers of its own, and keeps what was measured so far beside the output.
 */
import { assert } from "stratagem-runtime/internal/core/assert";
import { InputError } from "../spec/input-error.ts";
import type { Measurement } from "./latency-profile.ts";
import {
  type Cell,
  type InputsOf,
  inTurns,
  type MeasureOptions,
  measureCells,
  randomInputsOf,
  type Turn,
  variantOf,
} from "./measure.ts";
import { writePartial } from "./partial-file.ts";
import type { ProfilePlan } from "./profile-plan.ts";
import { type ProfiledWorker, startWorkers, type WorkerSources } from "./profiled-worker.ts";

export interface RoundSources extends WorkerSources, Pick<MeasureOptions, "nowMs" | "onProgress"> {}

/** Where it is not that every cell runs alone, on random numbers. */
export interface RoundOptions {
  readonly turns?: readonly Turn[];
  /** Finds the inputs out once the workers are up; what it runs, runs on one that holds it. */
  readonly prepare?: (worker: Pick<ProfiledWorker, "run">) => Promise<InputsOf>;
  readonly onOutputs?: MeasureOptions["onOutputs"];
}

/**
 * Finished rounds are saved no more often than this; what came after the last save is lost to an
 * interruption.
 */
const SAVE_INTERVAL_MS = 2000;

/**
 * @param out what the partial file is named after.
 * @param earlier rounds of an earlier run to go on from.
 * @throws as `measureCells` and `startWorkers`.
 */
export async function measureRounds(
  plan: ProfilePlan,
  out: string,
  earlier: readonly Cell[] | null,
  surroundings: RoundSources,
  { turns = inTurns(plan), prepare, onOutputs = () => {} }: RoundOptions = {},
): Promise<readonly Cell[]> {
  const { nowMs, signal, onProgress } = surroundings;
  signal.throwIfAborted();
  const held = heldBy(turns, plan);
  const { workers, close } = await startWorkers(plan, held, surroundings);
  let savedMs = nowMs();
  const onRound = async (cells: readonly Cell[]): Promise<void> => {
    if (nowMs() - savedMs < SAVE_INTERVAL_MS) return;
    await writePartial(out, plan, cells);
    savedMs = nowMs();
  };
  try {
    const inputsOf = (await prepare?.(anyOf(workers, held))) ?? randomInputsOf(plan);
    const watch = { onRound, onOutputs, onProgress, signal, nowMs };
    return await measureCells(plan, { workers, turns, earlier, inputsOf, ...watch });
  } finally {
    await close();
  }
}

/** Variants that each worker runs. */
function heldBy(turns: readonly Turn[], plan: ProfilePlan): number[][] {
  const held: Set<number>[] = [];
  for (const [worker, cell] of turns.flatMap((turn) =>
    turn.map((run) => [run.worker, run.cell] as const),
  )) {
    held[worker] ??= new Set();
    held[worker].add(variantOf(plan, cell));
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
      assert(worker !== undefined, "every variant has a worker");
      return worker.run(batch);
    },
  };
}

export function isNoisy({ noise: { figure, limit } }: Measurement): boolean {
  return figure > limit;
}

/** @throws InputError, always. */
export function refuseNoise(out: string, { noise: { figure, limit } }: Measurement): never {
  throw new InputError(
    "INPUT_CONFLICT",
    `${out}: expected noise (mean p95 ÷ p50 of the runs) of at most ${limit}, ` +
      `got ${figure.toFixed(2)}: this machine is too busy to profile. ` +
      "Free it and measure again, or write these measurements with --force",
  );
}
