/**
 * The latency model l(b, c) = γ b / c + ε / c + δ b + η, fitted to measured points. Source: Themis
 * eq. 1.
 */
import { createRequire } from "node:module";
import type * as MathJs from "mathjs";
import { fittedMs, type LatencyFit } from "stratagem-runtime/internal/bundle/schema";

export interface LatencyPoint {
  readonly batch: number;
  readonly cores: number;
  readonly ms: number;
}

const TERMS = 4;
type Coefficients = readonly number[];

/**
 * Least squares of the relative errors, since latencies span two orders of magnitude. If that is
 * not above 0, or falls with the batch, anywhere up to `maxBatch` and `maxCores`, takes the best
 * fit among those whose coefficients are not negative.
 * @returns null if the points do not determine the terms: too few of them, or all of one batch size
 * or number of cores.
 */
export function fitLatency(
  points: readonly LatencyPoint[],
  maxBatch: number,
  maxCores: number,
): LatencyFit | null {
  const free = solved(points, [0, 1, 2, 3]);
  if (free === null) return null;
  const fit = fitOf(free);
  if (worstCell(fit, maxBatch, maxCores) === null) return fit;
  let best: LatencyFit | null = null;
  let bestError = Number.POSITIVE_INFINITY;
  // Trying every set of nonzero terms, of four, is the simplest active-set method.
  for (let set = 1; set < 2 ** TERMS; set++) {
    const terms = [0, 1, 2, 3].filter((term) => (set & (1 << term)) !== 0);
    const coefficients = solved(points, terms);
    if (coefficients === null || coefficients.some((one) => one < 0)) continue;
    const candidate = fitOf(coefficients);
    const error = relativeError(candidate, points);
    if (error >= bestError) continue;
    best = candidate;
    bestError = error;
  }
  return best;
}

/**
 * A cell whose latency is not above 0, or below that of the batch before; null if no cell is.
 */
export function worstCell(
  fit: LatencyFit,
  maxBatch: number,
  maxCores: number,
): { readonly batch: number; readonly cores: number; readonly ms: number } | null {
  // The fit is linear in the batch and monotone in the cores, so its ends suffice.
  for (const cores of [1, maxCores]) {
    const first = fittedMs(fit, 1, cores);
    if (!(first > 0)) return { batch: 1, cores, ms: first };
    const last = fittedMs(fit, maxBatch, cores);
    if (last < first) return { batch: maxBatch, cores, ms: last };
  }
  return null;
}

function fitOf([gamma = 0, epsilon = 0, delta = 0, eta = 0]: Coefficients): LatencyFit {
  return { gamma, epsilon, delta, eta };
}

/** Sum of the squared relative errors. */
function relativeError(fit: LatencyFit, points: readonly LatencyPoint[]): number {
  return points.reduce((sum, { batch, cores, ms }) => {
    return sum + (fittedMs(fit, batch, cores) / ms - 1) ** 2;
  }, 0);
}

/** Coefficients of the terms, 0 for those left out; null if the points do not determine them. */
function solved(points: readonly LatencyPoint[], terms: readonly number[]): Coefficients | null {
  const rows = points.map(({ batch, cores, ms }) => {
    const all = [batch / cores, 1 / cores, batch, 1];
    return terms.map((term) => (all[term] ?? 0) / ms);
  });
  const { lusolve } = math();
  const product = (a: number, b: number): number =>
    rows.reduce((sum, row) => sum + (row[a] ?? 0) * (row[b] ?? 0), 0);
  // Columns of equal length keep the normal equations well conditioned.
  const scale = terms.map((_, a) => Math.sqrt(product(a, a)));
  if (scale.some((one) => !(one > 0))) return null;
  const normal = terms.map((_, a) =>
    terms.map((__, b) => product(a, b) / ((scale[a] ?? 1) * (scale[b] ?? 1))),
  );
  const right = terms.map(
    (_, a) => rows.reduce((sum, row) => sum + (row[a] ?? 0), 0) / (scale[a] ?? 1),
  );
  if (!isRegular(normal)) return null;
  const solution = lusolve(normal, right) as unknown as number[][];
  const coefficients = new Array<number>(TERMS).fill(0);
  for (const [index, term] of terms.entries()) {
    coefficients[term] = (solution[index]?.[0] ?? 0) / (scale[index] ?? 1);
  }
  return coefficients;
}

/**
 * Points of a single batch size or number of cores leave a determinant of rounding errors alone.
 */
const LEAST_DETERMINANT = 1e-12;

function isRegular(normal: number[][]): boolean {
  return Math.abs(math().det(normal)) > LEAST_DETERMINANT;
}

let loaded: typeof MathJs | null = null;

/** Loaded on first use: it takes longer to load than most specs to compile. */
function math(): typeof MathJs {
  loaded ??= createRequire(import.meta.url)("mathjs") as typeof MathJs;
  return loaded;
}
