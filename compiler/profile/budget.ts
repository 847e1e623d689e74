/**
 * Decides which cells to spend a time budget on: those whose 95th percentile a run is expected to
 * improve most, per time.
 */
import { type Cell, WARM_UP_RUNS } from "./measure.ts";
import { cellNoise } from "./noise.ts";

/** Estimate for a cell from its own runs and its neighbours. */
interface Outlook {
  /** Time of a run: the cell's median, or an estimate from neighbouring cells. */
  readonly costMs: number;
  /**
   * Relative standard error of the 95th percentile; for a cell without runs, of the prediction
   * interpolated from neighbouring cells.
   */
  readonly error: number;
}

/** Cell to run next. */
export interface Choice {
  readonly cell: number;
  /** True if it has no runs yet: it is warmed up first and begins with several runs. */
  readonly isFirst: boolean;
}

interface BudgetState {
  readonly cells: readonly Cell[];
  /** Runs that suffice for a cell that is not noisy. */
  readonly repeat: number;
  readonly leftMs: number;
}

/** Kept runs that a cell begins with. */
export const FIRST_RUNS = 5;
/** Most runs of a noisy cell, as a multiple of the requested runs. */
const MOST_REPEATS = 20;
/** Relative standard error of one run, used until there are enough runs to estimate it. */
const RUN_ERROR = 0.3;
const ENOUGH_RUNS = 10;
/** Half width of a 90 % interval in standard errors. */
const STANDARD_ERRORS = 1.645;
/** Relative error of a prediction: without any information; per doubling of the batch. */
const UNKNOWN_ERROR = 1;
const DOUBLING_ERROR = 0.5;
const BETWEEN_ERROR = 0.25;
/** Smallest error that is assumed of an interpolation. */
const LEAST_ERROR = 0.03;
/** Resolution of the clock. */
const LEAST_COST_MS = 1e-6;
/** Cells that teach at least this part of the best cell's gain are run in the same round. */
const ROUND_PART = 0.5;

/**
 * Chooses the cells of the next round, each to be run once, or as often as a new cell begins with;
 * empty if the time is spent or nothing is left to learn. Deterministic for given measurements and
 * time.
 * The gain of a cell is the expected decrease of its squared error per ms. The smallest batch of
 * each variant and bucket, on the first number of cores, comes first, since interpolation and the
 * profile need it.
 * @returns in the order of the plan.
 */
export function chooseRound(state: BudgetState): Choice[] {
  const { cells, repeat, leftMs } = state;
  const outlooks = outlooksOf(cells);
  const firsts = firstCells(cells).filter((index) => runsOf(cells[index]) === 0);
  if (firsts.length > 0) {
    return firsts.map((cell) => ({ cell, isFirst: true }));
  }
  const candidates = [...cells.entries()]
    .filter(([, cell]) => isOpen(cell, repeat))
    .map(([index, cell]) => {
      const outlook = outlooks[index] ?? { costMs: 0, error: 0 };
      const runs = runsOf(cell);
      const spentRuns = runs === 0 ? WARM_UP_RUNS + FIRST_RUNS : 1;
      const costMs = Math.max(LEAST_COST_MS, outlook.costMs * spentRuns);
      return { cell: index, isFirst: runs === 0, costMs, worth: fallOf(outlook, runs) / costMs };
    })
    .filter(({ costMs }) => costMs <= leftMs)
    .sort((a, b) => b.worth - a.worth || a.cell - b.cell);
  const least = ROUND_PART * (candidates[0]?.worth ?? 0);
  let lateMs = 0;
  return candidates
    .filter(({ worth, costMs }) => {
      const fits = worth >= least && lateMs + costMs <= leftMs;
      if (fits) lateMs += costMs;
      return fits;
    })
    .map(({ cell, isFirst }) => ({ cell, isFirst }))
    .sort((a, b) => a.cell - b.cell);
}

/** Expected decrease of the squared error by the next runs. */
function fallOf({ error }: Outlook, runs: number): number {
  if (runs > 0) return error ** 2 / (runs + 1);
  // Weights the prediction and the measurement by their precision.
  return error ** 2 - 1 / (1 / error ** 2 + FIRST_RUNS / RUN_ERROR ** 2);
}

/**
 * Returns the indices of the cells that each variant and bucket needs before anything can be
 * interpolated.
 */
export function firstCells(cells: readonly Cell[]): number[] {
  const seen = new Set<string>();
  return [...cells.keys()].filter((index) => {
    const key = `${cells[index]?.bucket ?? 0} ${cells[index]?.variant ?? ""}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** True if more runs of a cell are useful. */
function isOpen({ wallMs }: Cell, repeat: number): boolean {
  if (wallMs.length < repeat) return true;
  return wallMs.length < MOST_REPEATS * repeat && cellNoise(wallMs).isNoisy;
}

/** Estimates each cell from its own runs or from its neighbours. */
export function outlooksOf(cells: readonly Cell[]): Outlook[] {
  const known = new Map<Cell, number>();
  for (const cell of cells) if (runsOf(cell) > 0) known.set(cell, medianOf(cell.wallMs));
  return cells.map((cell) => {
    const costMs = known.get(cell);
    if (costMs !== undefined) return { costMs, error: measuredError(cell.wallMs) };
    const variant = [...known].filter(
      ([other]) => other.variant === cell.variant && other.bucket === cell.bucket,
    );
    const beside = variant.filter(([other]) => other.cores === cell.cores);
    return beside.length > 0
      ? predicted(cell.batch, pointsOf(beside))
      : fromOtherCores(cell, variant);
  });
}

type Point = readonly [batch: number, ms: number];

function pointsOf(cells: readonly (readonly [Cell, number])[]): Point[] {
  return cells.map(([{ batch }, ms]): Point => [batch, ms]).sort((a, b) => a[0] - b[0]);
}

function fromOtherCores(cell: Cell, known: readonly (readonly [Cell, number])[]): Outlook {
  if (known.length === 0) return { costMs: 0, error: UNKNOWN_ERROR };
  const fewest = Math.min(...known.map(([{ cores }]) => cores));
  const points = pointsOf(known.filter(([{ cores }]) => cores === fewest));
  const { costMs } = predicted(cell.batch, points);
  return { costMs, error: UNKNOWN_ERROR };
}

/** @param points ascending, at least one. */
function predicted(batch: number, points: readonly Point[]): Outlook {
  const lower = points.findLast(([known]) => known < batch);
  const upper = points.find(([known]) => known > batch);
  if (lower !== undefined && upper !== undefined) {
    return { costMs: between(lower, upper, batch), error: interpolationError(points) };
  }
  const [known, ms] = lower ?? upper ?? [batch, 0];
  const doublings = Math.abs(Math.log2(batch / known));
  // Time grows at most in proportion to the batch, and does not shrink with a larger one.
  const costMs = ms * Math.max(1, batch / known);
  return { costMs, error: Math.min(UNKNOWN_ERROR, DOUBLING_ERROR * doublings) };
}

/** Mean distance of the measured points from the line between their neighbours. */
function interpolationError(points: readonly Point[]): number {
  const errors = points.slice(1, -1).map(([batch, ms], index) => {
    const [lower, upper] = [points[index], points[index + 2]];
    return lower === undefined || upper === undefined
      ? 0
      : Math.abs(between(lower, upper, batch) / ms - 1);
  });
  return errors.length === 0 ? BETWEEN_ERROR : Math.max(LEAST_ERROR, ...errors);
}

function between([low, lowMs]: Point, [high, highMs]: Point, batch: number): number {
  return lowMs + ((highMs - lowMs) * (batch - low)) / (high - low);
}

/** Estimates the error of a cell's 95th percentile from its confidence interval. */
function measuredError(wallMs: readonly number[]): number {
  const fewRuns = RUN_ERROR / Math.sqrt(wallMs.length);
  if (wallMs.length < ENOUGH_RUNS) return fewRuns;
  return Math.max(cellNoise(wallMs).p95Interval.halfWidth / STANDARD_ERRORS, fewRuns / 10);
}

function medianOf(times: readonly number[]): number {
  const sorted = Float64Array.from(times).sort();
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}

function runsOf(cell: Cell | undefined): number {
  return cell?.wallMs.length ?? 0;
}
