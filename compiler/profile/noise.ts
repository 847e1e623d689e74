/**
 * How far the measurements of a machine are to be believed. What each check is for, and what its
 * limit was chosen by, is in docs/models.md.
 */
import { assert } from "stratagem-runtime/internal/core/assert";
import { quantileRanks, type RankInterval } from "../numeric/quantile-interval.ts";
import type { Cell } from "./measure.ts";

/** What is allowed of a machine. */
const NOISE_LIMITS = {
  /** Mean over the cells of p95 ÷ p50. */
  tail: 2,
  /** Half of the interval of a cell's p95, and what its median drifts, as parts of it. */
  cell: 0.2,
  /** Part of the time in the worker that no processor worked for it. */
  waitingShare: 0.05,
  /** Part of the cells that may be noisy by themselves. */
  noisyShare: 0.1,
} as const;

/** Where the 95th percentile of a cell lies, so probably. */
export interface P95Interval {
  readonly lowMs: number;
  readonly highMs: number;
  /** At most 0.9 is asked for; fewer than 59 runs may give less. */
  readonly confidence: number;
  /** Half of its width, as a part of p95. */
  readonly halfWidth: number;
}

/** What the wall times of a cell say of themselves. */
interface CellNoise {
  /** p95 ÷ p50. */
  readonly tail: number;
  readonly p95Interval: P95Interval;
  /** Of the medians of its first and last half of runs, apart as a part of p50; 0 of few runs. */
  readonly drift: number;
  readonly isNoisy: boolean;
}

/** What the machine was like while the cells were measured. */
export interface MachineNoise {
  /** Mean over the cells of p95 ÷ p50; 1 is a machine that always takes the same time. */
  readonly figure: number;
  readonly limit: number;
  /**
   * Part of the wall time inside the worker that no processor worked for it, over all cells of one
   * core: what neighbours took. Null where there are none, or batches run on an accelerator. It
   * shows a steady neighbour, which the other checks do not.
   */
  readonly waitingShare: number | null;
  readonly waitingLimit: number;
  /** Of the interval and the drift of a cell. */
  readonly cellLimit: number;
  /** Indices of cells that are noisy by themselves. */
  readonly noisyCells: readonly number[];
  readonly mostNoisyCells: number;
}

/**
 * Added to both sides of a ratio of times: jitter of some tenths of a millisecond, which no
 * deadline notices, must not condemn a model that takes as little.
 */
const JITTER_MS = 0.5;
const P95 = 0.95;
const CONFIDENCE = 0.9;
/** Medians of fewer runs differ by chance. */
const DRIFT_RUNS = 20;

/** @param wallMs of runs in their order, at least one. */
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
 * @param cells measured on `device`, each with what `cellNoise` says of it.
 * @param mayWait whether a cell may wait for something else than a processor, as code does.
 * @param judgesCells whether cells that are noisy by themselves count, or are only told of.
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

/** By the number of runs, since cells are judged again and again. */
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

/** @param rank from 1 on. */
function ranked(sorted: Float64Array, rank: number): number {
  const value = sorted[rank - 1];
  assert(value !== undefined, "a rank is one of the runs");
  return value;
}
