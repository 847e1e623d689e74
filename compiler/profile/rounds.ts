/**
 * Measures round by round, each round one run of every cell, so that what drifts drifts for all
 * alike; then some more rounds of the cells that are not known well enough.
 */
import { type Bench, type Cell, type Turn, WARM_UP_RUNS } from "./measure.ts";
import { cellNoise } from "./noise.ts";
import type { ProfilePlan } from "./profile-plan.ts";

/** What is done beyond the runs that were asked for. */
export interface Effort {
  /**
   * Time that the warm-up goes on for, though not beyond `MOST_WARM_UP_RUNS` of each cell: caches
   * and compilers on the way to a worker take some dozen runs until short ones are as in service.
   */
  readonly warmUpMs: number;
  /** The most time for runs of cells that those that were asked for leave uncertain. */
  readonly extraMs: number;
}

export interface RoundsOptions {
  /** Of a round: they keep one run of each cell. */
  readonly turns: readonly Turn[];
  readonly effort: Effort;
  /** Called after each round. */
  readonly onRound: (cells: readonly Cell[]) => Promise<void>;
  readonly onProgress: (done: number, total: number, stage?: string) => void;
  /** Called once, early on, with what the runs that were asked for will take. */
  readonly onEstimate?: (ms: number) => void;
}

const MOST_WARM_UP_RUNS = 50;
/** Of a cell; more say little beyond. */
const MOST_RUNS = 5000;
/**
 * Rounds that take no longer are of all cells also then: a short run is faster right after itself
 * than among others, as in service.
 */
const SHORT_ROUND_MS = 1000;
/** After so many rounds it is looked again which cells want more. */
const EXTRA_ROUNDS = 10;
/** Of a 95th percentile, as from 59 runs on. */
const CONFIDENCE = 0.9;

/**
 * Goes on until every cell has `plan.repeat` runs at least.
 * @throws as `Bench.run`.
 */
export async function measureInRounds(
  plan: ProfilePlan,
  bench: Bench,
  { turns, effort, onRound, onProgress, onEstimate = () => {} }: RoundsOptions,
): Promise<void> {
  const { cells, nowMs } = bench;
  const missing = (turn: Turn): number => missingRuns(turn, cells, plan.repeat);
  const size = turns.reduce((sum, turn) => sum + turn.length, 0);
  // Without the runs of before, so that the time left can be told from the time these take.
  const rounds = turns.reduce((sum, turn) => sum + turn.length * missing(turn), 0);
  const total = WARM_UP_RUNS * size + rounds;
  let done = 0;
  const startMs = nowMs();
  for (let round = 0; round < MOST_WARM_UP_RUNS; round++) {
    if (round >= WARM_UP_RUNS && nowMs() - startMs >= effort.warmUpMs) break;
    for (const turn of turns) {
      await bench.run(turn, false);
      if (round >= WARM_UP_RUNS) continue;
      done += turn.length;
      onProgress(done, total);
    }
    if (round === 0) onEstimate((nowMs() - startMs) * (total / size));
  }
  for (;;) {
    const left = turns.filter((turn) => missing(turn) > 0);
    if (left.length === 0) break;
    for (const turn of left) {
      await bench.run(turn, true);
      done += turn.length;
      onProgress(done, total);
    }
    await onRound(cells);
  }
  await measureExtra(bench, { turns, extraMs: effort.extraMs, onRound, onProgress, done });
}

/** How many runs the kept cells of a turn lack; a turn that keeps none lacks what any cell does. */
function missingRuns(turn: Turn, cells: readonly Cell[], repeat: number): number {
  const kept = turn.filter(({ isKept }) => isKept).map(({ cell }) => cells[cell]);
  const counts = (kept.length > 0 ? kept : cells).map((cell) => cell?.wallMs.length ?? 0);
  return Math.max(0, ...counts.map((count) => repeat - count));
}

interface ExtraOptions extends Pick<RoundsOptions, "turns" | "onRound" | "onProgress"> {
  readonly extraMs: number;
  readonly done: number;
}

/**
 * Cells that are noisy come first; then, where a round is short, those with too few runs for a sure
 * interval.
 */
async function measureExtra(bench: Bench, options: ExtraOptions): Promise<void> {
  const { turns, extraMs, onRound, onProgress } = options;
  const { cells, nowMs } = bench;
  const endMs = nowMs() + extraMs;
  let { done } = options;
  while (nowMs() < endMs) {
    const isShort = roundMs(cells) <= SHORT_ROUND_MS;
    const wanting = wantingCells(cells, isShort);
    if (wanting.size === 0) return;
    const chosen = turns.filter((turn) => isShort || turn.some(({ cell }) => wanting.has(cell)));
    for (let round = 0; round < EXTRA_ROUNDS && nowMs() < endMs; round++) {
      for (const turn of chosen) {
        if (!isShort && nowMs() >= endMs) break;
        await bench.run(turn, true);
        done += turn.length;
      }
      await onRound(cells);
    }
    const count = wanting.size === 1 ? "1 cell" : `${wanting.size} cells`;
    onProgress(done, done, `more for ${count}`);
  }
}

/** What a run of every cell takes. */
function roundMs(cells: readonly Cell[]): number {
  return cells.reduce((sum, { wallMs }) => sum + (wallMs.at(-1) ?? 0), 0);
}

function wantingCells(cells: readonly Cell[], isShort: boolean): Set<number> {
  const judged = cells.map(({ wallMs }) => cellNoise(wallMs));
  const among = (isWanting: (index: number) => boolean): number[] =>
    [...cells.keys()].filter((index) => isWanting(index) && runsOf(cells, index) < MOST_RUNS);
  const noisy = among((index) => judged[index]?.isNoisy ?? false);
  if (noisy.length > 0 || !isShort) return new Set(noisy);
  return new Set(among((index) => (judged[index]?.p95Interval.confidence ?? 1) < CONFIDENCE));
}

function runsOf(cells: readonly Cell[], index: number): number {
  return cells[index]?.wallMs.length ?? 0;
}
