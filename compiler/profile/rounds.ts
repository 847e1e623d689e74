/**
 * Measures in rounds of one run of every cell, so that drift affects all cells alike, each in an
 * order of its own, so that a cell has no fixed predecessor; then adds rounds for cells with
 * uncertain results.
 */
import { Rng } from "stratagem-runtime/internal/core/rng";
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
  /** True if the order of the turns matters; otherwise each round has another one. */
  readonly isOrdered: boolean;
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
/** Stream of the seed for the order of turns; inputs have those from 0 on. */
export const ORDER_STREAM = 1_000_000;
/** Confidence of a 95th percentile, reached from 59 runs on. */
const CONFIDENCE = 0.9;

/**
 * Continues until every cell has at least `plan.repeat` runs.
 * @throws as `Bench.run`.
 */
export async function measureInRounds(
  plan: ProfilePlan,
  bench: Bench,
  { turns, isOrdered, effort, onRound, onProgress, onEstimate = () => {} }: RoundsOptions,
): Promise<void> {
  const { cells, nowMs } = bench;
  const rng = new Rng(plan.seed, ORDER_STREAM);
  const coresOf = ([run]: Turn) => (run === undefined ? undefined : cells[run.cell]?.cores);
  const ordered = (some: readonly Turn[]) => {
    return isOrdered ? some : inRandomOrder(some, coresOf, rng);
  };
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
    for (const turn of ordered(left)) {
      await bench.run(turn, true);
      done += turn.length;
      onProgress(done, total);
    }
    await onRound(cells);
  }
  const { extraMs } = effort;
  await measureExtra(bench, { turns, ordered, extraMs, onRound, onProgress, done });
}

/**
 * Shuffles items; those on the same number of cores stay together, since changing it takes time.
 */
export function inRandomOrder<T>(
  items: readonly T[],
  coresOf: (item: T) => number | undefined,
  rng: Rng,
): T[] {
  const shuffled = [...items];
  for (let left = shuffled.length; left > 1; left--) {
    const [item] = shuffled.splice(Math.floor(rng.nextFloat() * left), 1);
    if (item !== undefined) shuffled.push(item);
  }
  const cores = [...new Set(shuffled.map(coresOf))];
  return cores.flatMap((count) => shuffled.filter((item) => coresOf(item) === count));
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
  readonly ordered: (turns: readonly Turn[]) => readonly Turn[];
  readonly extraMs: number;
  readonly done: number;
}

/**
 * Selects noisy cells first; then, if a round is short, those with too few runs for the confidence
 * interval.
 */
async function measureExtra(bench: Bench, options: ExtraOptions): Promise<void> {
  const { turns, ordered, extraMs, onRound, onProgress } = options;
  const { cells, nowMs } = bench;
  const endMs = nowMs() + extraMs;
  let { done } = options;
  while (nowMs() < endMs) {
    const isShort = roundMs(cells) <= SHORT_ROUND_MS;
    const wanting = wantingCells(cells, isShort);
    if (wanting.size === 0) return;
    const chosen = turns.filter((turn) => isShort || turn.some(({ cell }) => wanting.has(cell)));
    for (let round = 0; round < EXTRA_ROUNDS && nowMs() < endMs; round++) {
      for (const turn of ordered(chosen)) {
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
