/**
 * Judges how reliable the measurements of a machine are. docs/models.md explains each check and its
 * limit.
 */
import { assert } from "stratagem-runtime/internal/core/assert";
import { quantileRanks, type RankInterval } from "../numeric/quantile-interval.ts";
import type { Cell } from "./measure.ts";

/** Limits for a machine. */
const NOISE_LIMITS = {
  /** Mean over the cells of p95 ÷ p50. */
  tail: 2,
  /**
   * Half width of the interval of a cell's p95, and drift of its median, relative to p95 and p50.
   */
  cell: 0.2,
  /** Share of the time in the worker without a processor. */
  waitingShare: 0.05,
  /** Share of cells that may be noisy by themselves. */
  noisyShare: 0.1,
} as const;

/** Confidence interval of a cell's 95th percentile. */
export interface P95Interval {
  readonly lowMs: number;
  readonly highMs: number;
  /** The target is 0.9; fewer than 59 runs may have less. */
  readonly confidence: number;
  /** Half width relative to p95. */
  readonly halfWidth: number;
}

/** Noise of a cell's wall times. */
interface CellNoise {
  /** p95 ÷ p50. */
  readonly tail: number;
  readonly p95Interval: P95Interval;
  /**
   * Difference between the medians of the first and the last half of the runs, relative to p50; 0
   * with few runs.
   */
  readonly drift: number;
  readonly isNoisy: boolean;
}

/** Noise of the machine during the measurement. */
export interface MachineNoise {
  /** Mean over the cells of p95 ÷ p50; 1 for constant times. */
  readonly figure: number;
  readonly limit: number;
  /**
   * Share of the wall time inside the worker without a processor, over all cells on one core: time
   * that other processes took. Null if there are no such cells, or batches run on an accelerator.
   * It reveals a steady neighbour, which the other checks do not.
   */
  readonly waitingShare: number | null;
  readonly waitingLimit: number;
  /** Limit of a cell's interval and drift. */
  readonly cellLimit: number;
  /** Indices of cells that are noisy by themselves. */
  readonly noisyCells: readonly number[];
  readonly mostNoisyCells: number;
}

/**
 * Added to both sides of a ratio of times, so that jitter of some tenths of a millisecond, which is
 * irrelevant to deadlines, does not condemn a fast model.
 */
const JITTER_MS = 0.5;
const P95 = 0.95;
const CONFIDENCE = 0.9;
/** Fewest runs for a drift; medians of fewer runs differ by chance. */
const DRIFT_RUNS = 20;

/** @param wallMs of runs in order, at least one. */
export function cellNoise(wallMs: readonly number[]): CellNoise {
  const sorted = Float64Array.from(wallMs).sort();
  const { low, high, confidence } = p95Ranks(sorted.length);
  const lowMs = ranked(sorted, low);
  const highMs = ranked(sorted, high);
  const p50Ms = nearestRank(sorted, 0.5);
  const p95Ms = nearestRank(sorted, P95);
  const halfWidth = (highMs - lowMs) / 2 / (p95Ms + JITTER_MS);
  const drift = driftOf(wallMs, p50Ms);
  return {
    tail: (p95Ms + JITTER_MS) / (p50Ms + JITTER_MS),
    p95Interval: { lowMs, highMs, confidence, halfWidth },
    drift,
    isNoisy: halfWidth > NOISE_LIMITS.cell || drift > NOISE_LIMITS.cell,
  };
}

/**
 * Combines the noise of all cells.
 * @param cells measured on `device`, each with its `cellNoise`.
 * @param mayWait whether a cell may wait for something other than a processor, as code can.
 * @param judgesCells whether noisy cells count, or are only reported.
 */
export function machineNoise(
  cells: readonly { readonly cell: Cell; readonly noise: CellNoise }[],
  device: string,
  judgesCells: boolean,
  mayWait: (cell: Cell) => boolean = () => false,
): MachineNoise {
  const computing = cells.flatMap(({ cell }) => (mayWait(cell) ? [] : [cell]));
  const sum = cells.reduce((total, { noise }) => total + noise.tail, 0);
  return {
    figure: sum / cells.length,
    limit: NOISE_LIMITS.tail,
    waitingShare: device === "cpu" ? waitingShareOf(computing) : null,
    waitingLimit: NOISE_LIMITS.waitingShare,
    cellLimit: NOISE_LIMITS.cell,
    noisyCells: [...cells.entries()].filter(([, { noise }]) => noise.isNoisy).map(([at]) => at),
    mostNoisyCells: judgesCells ? Math.floor(NOISE_LIMITS.noisyShare * cells.length) : cells.length,
  };
}

/** Cached by number of runs, since cells are judged repeatedly. */
const ranksByCount = new Map<number, RankInterval>();

function p95Ranks(count: number): RankInterval {
  const known = ranksByCount.get(count) ?? quantileRanks(count, P95, CONFIDENCE);
  ranksByCount.set(count, known);
  return known;
}

function driftOf(wallMs: readonly number[], p50Ms: number): number {
  if (wallMs.length < DRIFT_RUNS) return 0;
  const half = Math.floor(wallMs.length / 2);
  const [firstMs, lastMs] = [wallMs.slice(0, half), wallMs.slice(half)].map((runs) =>
    nearestRank(Float64Array.from(runs).sort(), 0.5),
  );
  assert(firstMs !== undefined && lastMs !== undefined, "there are two halves");
  return Math.abs(lastMs - firstMs) / (p50Ms + JITTER_MS);
}

function waitingShareOf(all: readonly Cell[]): number | null {
  const cells = all.filter(({ cores }) => cores === 1);
  if (cells.length === 0) return null;
  const workerMs = cells.reduce((sum, cell) => sum + meanOf(cell.workerMs), 0);
  const cpuMs = cells.reduce((sum, cell) => sum + meanOf(cell.cpuMs), 0);
  return workerMs === 0 ? 0 : Math.max(0, 1 - cpuMs / workerMs);
}

function meanOf(times: readonly number[]): number {
  return times.reduce((sum, ms) => sum + ms, 0) / Math.max(1, times.length);
}

function nearestRank(sorted: Float64Array, quantile: number): number {
  return ranked(sorted, Math.max(1, Math.ceil(quantile * sorted.length - 1e-9)));
}

/** @param rank counted from 1. */
function ranked(sorted: Float64Array, rank: number): number {
  const value = sorted[rank - 1];
  assert(value !== undefined, "a rank is one of the runs");
  return value;
}
