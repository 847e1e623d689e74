/**
 * Measures in rounds of one run of every cell, so that drift affects all cells alike; then adds
 * rounds for cells with uncertain results.
 */
import { type Bench, type Cell, type Turn, WARM_UP_RUNS } from "./measure.ts";
import { cellNoise } from "./noise.ts";
import type { ProfilePlan } from "./profile-plan.ts";

/** Measuring beyond the requested runs. */
export interface Effort {
  /**
   * Time to continue the warm-up, up to `MOST_WARM_UP_RUNS` of each cell: caches and compilers need
   * some dozen runs until short runs take as long as in service.
   */
  readonly warmUpMs: number;
  /** Most time for additional runs of uncertain cells. */
  readonly extraMs: number;
}

export interface RoundsOptions {
  /** Turns of a round, which keep one run of each cell. */
  readonly turns: readonly Turn[];
  readonly effort: Effort;
  /** Called after each round. */
  readonly onRound: (cells: readonly Cell[]) => Promise<void>;
  readonly onProgress: (done: number, total: number, stage?: string) => void;
  /** Called once, early on, with an estimate of the time for the requested runs. */
  readonly onEstimate?: (ms: number) => void;
}

const MOST_WARM_UP_RUNS = 50;
/** Most runs of a cell; more add little information. */
const MOST_RUNS = 5000;
/**
 * Rounds up to this length include all cells even then: a short run is faster right after itself
 * than among others, as in service.
 */
const SHORT_ROUND_MS = 1000;
/** Rounds after which uncertain cells are selected again. */
const EXTRA_ROUNDS = 10;
/** Confidence of a 95th percentile, reached from 59 runs on. */
const CONFIDENCE = 0.9;

/**
 * Continues until every cell has at least `plan.repeat` runs.
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
  // Excludes runs of earlier invocations, so that the remaining time can be estimated.
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

/**
 * Counts the runs that the kept cells of a turn lack; for a turn that keeps none, the runs that any
 * cell lacks.
 */
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
 * Selects noisy cells first; then, if a round is short, those with too few runs for the confidence
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

/** Time of one run of every cell. */
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
