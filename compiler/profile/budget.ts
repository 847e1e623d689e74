/**
 * Which cells a budget of time is best spent on: those of whose 95th percentile a run is expected
 * to teach the most, for the time it takes.
 */
import { type Cell, WARM_UP_RUNS } from "./measure.ts";
import { cellNoise } from "./noise.ts";

/** A cell with what its neighbours say of it. */
interface Outlook {
  /** What a run takes: its median, or what the cells beside it make likely. */
  readonly costMs: number;
  /**
   * Standard error of the 95th percentile as a part of it; without any run, of what interpolation
   * between the cells beside it predicts.
   */
  readonly error: number;
}

/** A cell to run next. */
export interface Choice {
  readonly cell: number;
  /** Whether it was never run, so that it is warmed up first and begins with several runs. */
  readonly isFirst: boolean;
}

interface BudgetState {
  readonly cells: readonly Cell[];
  /** Runs of a cell that are enough if it is not noisy. */
  readonly repeat: number;
  readonly leftMs: number;
}

/** Kept runs that a cell begins with. */
export const FIRST_RUNS = 5;
/** Noisy cells get no more runs than this many times those that were asked for. */
const MOST_REPEATS = 20;
/** Relative standard error of one run, as long as there are too few to tell. */
const RUN_ERROR = 0.3;
const TELLING_RUNS = 10;
/** Standard errors between the middle and an end of an interval that holds at 90 %. */
const STANDARD_ERRORS = 1.645;
/** Of a prediction: with nothing to go by; per doubling of the batch; between two batches. */
const UNKNOWN_ERROR = 1;
const DOUBLING_ERROR = 0.5;
const BETWEEN_ERROR = 0.25;
/** Interpolation is not trusted further than this. */
const LEAST_ERROR = 0.03;
/** Of clocks that tell no less apart. */
const LEAST_COST_MS = 1e-6;
/** Cells that teach at least this part of what the best does are run in the same round. */
const ROUND_PART = 0.5;

/**
 * The cells of the next round, each to be run once, or as often as it begins with; none when the
 * time is spent or nothing is left to learn. The same measurements and time give the same cells.
 *
 * A cell is worth the fall of its squared error that a run makes likely, per ms. First of all every
 * variant gets its smallest batch, of each bucket, on its first number of cores, since without it
 * there is nothing to interpolate from, and no profile.
 * @returns in the order of the plan.
 */
export function chooseRound(state: BudgetState): Choice[] {
  const { cells, repeat, leftMs } = state;
  const outlooks = outlooksOf(cells);
  const firsts = firstCells(cells).filter((index) => runsOf(cells[index]) === 0);
  if (firsts.length > 0) {
    return firsts.slice(0, 1).map((cell) => ({ cell, isFirst: true }));
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

/** Fall of the squared error by the runs that come next. */
function fallOf({ error }: Outlook, runs: number): number {
  if (runs > 0) return error ** 2 / (runs + 1);
  // What is predicted and what is measured are put together by how sure each is.
  return error ** 2 - 1 / (1 / error ** 2 + FIRST_RUNS / RUN_ERROR ** 2);
}

/** Cells without which nothing is known of a variant, or of a bucket of it, by index. */
export function firstCells(cells: readonly Cell[]): number[] {
  const seen = new Set<string>();
  return [...cells.keys()].filter((index) => {
    const key = `${cells[index]?.bucket ?? 0} ${cells[index]?.variant ?? ""}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** Whether more runs of a cell are of use. */
function isOpen({ wallMs }: Cell, repeat: number): boolean {
  if (wallMs.length < repeat) return true;
  return wallMs.length < MOST_REPEATS * repeat && cellNoise(wallMs).isNoisy;
}

/** What is known of each cell by itself or from those beside it. */
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

/** Median by batch. */
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
  // A larger batch takes at most as much longer as it is larger, a smaller one no longer.
  const costMs = ms * Math.max(1, batch / known);
  return { costMs, error: Math.min(UNKNOWN_ERROR, DOUBLING_ERROR * doublings) };
}

/** How far those that were measured lie off the line between their neighbours. */
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

/** Of a cell's 95th percentile by its interval. */
function measuredError(wallMs: readonly number[]): number {
  const fewRuns = RUN_ERROR / Math.sqrt(wallMs.length);
  if (wallMs.length < TELLING_RUNS) return fewRuns;
  return Math.max(cellNoise(wallMs).p95Interval.halfWidth / STANDARD_ERRORS, fewRuns / 10);
}

function medianOf(times: readonly number[]): number {
  const sorted = Float64Array.from(times).sort();
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}

function runsOf(cell: Cell | undefined): number {
  return cell?.wallMs.length ?? 0;
}
