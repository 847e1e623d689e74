/**
 * Times of batches, by variant, size and kind: as profiled, and as a running server measures them.
 */

import { Histogram, head, type Labels, type MetricLine } from "../../base/exposition.ts";
import type { ServiceTimes as Profile } from "../../bundle/schema.ts";
import { KNOT_COUNT, quantileKnots } from "../../core/quantile-distribution.ts";
import { timeBoundsSeconds } from "../metrics/histogram-bounds.ts";
import { expectedTimeLines, expectTimes } from "../metrics/promise-lines.ts";

/** Profiled times of a batch of one size. */
export interface ProfiledTime {
  readonly p50Ms: number;
  /** Time that decisions use. */
  readonly decisionMs: number;
  /** Distribution, see `quantileKnots`; left out if the profile states one number. */
  readonly knots?: Float64Array;
}

/**
 * Returns the time of a batch of a variant, ms: the profiled p99, or else the time that decisions
 * use; undefined for a batch that was not profiled.
 * @param variant index on axis 0 of the tables.
 */
export function p99MsOf(
  times: Profile | undefined,
  variant: number,
  rows: number,
): number | undefined {
  const cell = cellOf(times, variant, rows);
  if (times === undefined || cell === undefined) return undefined;
  const decisionMs = times.decisionMs.data[cell];
  const p99Ms = times.quantiles?.p99Ms.data[cell];
  // Decisions may rest on more than was measured.
  return decisionMs === undefined ? p99Ms : Math.max(decisionMs, p99Ms ?? 0);
}

/**
 * Returns the times of a batch of a variant: the profiled median, or else the time that decisions
 * use; undefined for a batch that was not profiled.
 * @param variant index on axis 0 of the tables.
 */
export function profiledOf(
  times: Profile | undefined,
  variant: number,
  rows: number,
): ProfiledTime | undefined {
  const cell = cellOf(times, variant, rows);
  if (times === undefined || cell === undefined) return undefined;
  const decisionMs = times.decisionMs.data[cell];
  if (decisionMs === undefined) return undefined;
  if (times.quantiles === null) return { p50Ms: decisionMs, decisionMs };
  const { p50Ms, p95Ms, p99Ms, meanMs } = times.quantiles;
  const [p50 = decisionMs, p95 = p50, p99 = p95, mean = p50] = [p50Ms, p95Ms, p99Ms, meanMs].map(
    ({ data }) => data[cell],
  );
  return { p50Ms: p50, decisionMs, knots: quantileKnots(p50, p95, p99, mean) };
}

/** Place in the tables; undefined for a batch that was not profiled. */
function cellOf(times: Profile | undefined, variant: number, rows: number) {
  const maxBatch = times?.decisionMs.shape.at(-1) ?? 0;
  return rows > maxBatch ? undefined : variant * maxBatch + rows - 1;
}

/** Steps to a doubling: neighbouring bounds are 2.2 % apart. */
const STEPS = 32;
/** Least time that has a step of its own, ms: 2^-10. */
const LEAST_LOG2 = -10;
/** Up to 2^18 ms, 262 s; longer times count as that. */
const MOST_LOG2 = 18;
const STEP_COUNT = (MOST_LOG2 - LEAST_LOG2) * STEPS;

/** Counts of positive numbers; quantiles are within a step, 2.2 %, of those of the numbers. */
export class TimeSketch {
  readonly #counts = new Uint32Array(STEP_COUNT);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** @param value above 0; anything else counts as the least. */
  add(value: number): void {
    const step = Math.floor((Math.log2(value) - LEAST_LOG2) * STEPS);
    // Also true of NaN, so that every sample is counted.
    const place = !(step > 0) ? 0 : step < STEP_COUNT ? step : STEP_COUNT - 1;
    this.#counts[place] = (this.#counts[place] ?? 0) + 1;
    this.#count++;
  }

  /** Adds what another has counted. */
  merge(other: TimeSketch): void {
    for (let step = 0; step < STEP_COUNT; step++) {
      this.#counts[step] = (this.#counts[step] ?? 0) + (other.#counts[step] ?? 0);
    }
    this.#count += other.#count;
  }

  clear(): void {
    this.#counts.fill(0);
    this.#count = 0;
  }

  /**
   * Nearest rank, at the place of that rank within its step.
   * @param share in (0, 1]. @returns NaN without numbers.
   */
  quantile(share: number): number {
    if (this.#count === 0) return Number.NaN;
    const rank = Math.max(1, Math.ceil(share * this.#count));
    let below = 0;
    for (let step = 0; step < STEP_COUNT; step++) {
      const here = this.#counts[step] ?? 0;
      if (below + here >= rank) {
        const within = (rank - below - 0.5) / here;
        return 2 ** (LEAST_LOG2 + (step + within) / STEPS);
      }
      below += here;
    }
    return Number.NaN;
  }
}

/** Minimum duration of a block, so that it spans bursts of other load on the machine. */
export const BLOCK_MS = 5000;
/** Minimum number of batches in a block, so that its median is meaningful. */
export const BLOCK_BATCHES = 16;

/** Share above the profiled time that still counts as promised, if it is more than the jitter. */
export const TIME_TOLERANCE = 0.2;
/** Share of a block's batches that may take that much longer than decisions are made with. */
export const LATE_SHARE = 0.25;

export interface ServiceBlock {
  readonly batches: number;
  /** Median of batch times over profiled medians. */
  readonly ratio: number;
  /** Whether the median or the slowest quarter exceeds the promise. */
  readonly isSlow: boolean;
  readonly startMs: number;
  readonly endMs: number;
  /** Number of batches of each size. */
  readonly sizes: readonly BlockSize[];
}

export interface BlockBatch {
  readonly rows: number;
  /** Time in the worker. */
  readonly insideMs: number;
  /** Besides, until the server had the result. */
  readonly wayMs: number;
}

export interface BlockSize {
  readonly rows: number;
  batches: number;
}

/** Quantile of transfer times that counts as the transfer time. */
const QUICK_SHARE = 0.1;

/**
 * Batch times of a variant. Profiles include the transfer to the worker and back, which takes
 * longer on a busy server; so a batch time here is the time in the worker plus the shortest
 * transfers seen.
 */
export class VariantBlock {
  readonly #ratios = new TimeSketch();
  readonly #ways = new TimeSketch();
  readonly #jitterMs: number;
  #wayMs = Number.POSITIVE_INFINITY;
  #sizes = new Map<number, BlockSize>();
  /** Batches above the profiled median, and above the time of decisions, by more than tolerated. */
  #slow = 0;
  #late = 0;
  #startMs = Number.NaN;

  constructor(jitterMs = 0) {
    this.#jitterMs = jitterMs;
  }

  add(batch: BlockBatch, { p50Ms, decisionMs }: ProfiledTime, nowMs: number): void {
    const { insideMs, wayMs, rows } = batch;
    if (Number.isNaN(this.#startMs)) this.#startMs = nowMs;
    this.#ways.add(wayMs);
    const ms = insideMs + (this.#wayMs === Number.POSITIVE_INFINITY ? 0 : this.#wayMs);
    const ratio = ms / p50Ms;
    this.#ratios.add(ratio);
    if (ms - p50Ms > Math.max(TIME_TOLERANCE * p50Ms, this.#jitterMs)) this.#slow++;
    if (ms - decisionMs > Math.max(TIME_TOLERANCE * decisionMs, this.#jitterMs)) this.#late++;
    const size = this.#sizes.get(rows);
    if (size === undefined) this.#sizes.set(rows, { rows, batches: 1 });
    else size.batches++;
  }

  /** @returns undefined while it is too short or has too few batches. */
  take(nowMs: number): ServiceBlock | undefined {
    const batches = this.#ratios.count;
    if (batches < BLOCK_BATCHES || !(nowMs - this.#startMs >= BLOCK_MS)) return undefined;
    const ratio = this.#ratios.quantile(0.5);
    const block = {
      batches,
      ratio,
      isSlow: this.#slow > batches / 2 || this.#late > LATE_SHARE * batches,
      startMs: this.#startMs,
      endMs: nowMs,
      sizes: [...this.#sizes.values()],
    };
    this.#wayMs = Math.min(this.#wayMs, this.#ways.quantile(QUICK_SHARE));
    this.#ways.clear();
    this.#ratios.clear();
    this.#sizes = new Map();
    this.#slow = 0;
    this.#late = 0;
    this.#startMs = Number.NaN;
    return block;
  }
}

const TIMES = "stratagem_service_time_seconds";
const QUANTILES = [0.5, 0.95, 0.99];

/** Promised times of batches in a bundle. A kind is a pool, a number of cores, or a bucket. */
export interface ProfiledCells {
  /** SLO of requests, from which the bounds of histograms are made. */
  readonly sloMs: number;
  /** Labels of each variant, by its index. */
  readonly variants: readonly Labels[];
  kindLabels(kind: number): Labels;
  /** Undefined for a batch that was not profiled. */
  profiled(variant: number, rows: number, kind: number): ProfiledTime | undefined;
  /** Service time with n busy workers relative to one, at index n − 1. Default: all 1. */
  readonly contention?: readonly number[] | undefined;
  /** Time by which batches may be slower when their thread waits for a processor. Default: 0. */
  readonly jitterMs?: number | undefined;
}

export interface TimedBatch {
  readonly variant: number;
  readonly rows: number;
  readonly kind: number;
  /** From the handover to its worker until its result arrived. */
  readonly aroundMs: number;
  /** Time in the worker. */
  readonly insideMs: number;
  /** When the result was here. */
  readonly endMs: number;
  /** Most workers that computed at its start and at its end, its own included. */
  readonly busyWorkers: number;
}

interface Cell {
  readonly variant: number;
  readonly rows: number;
  readonly kind: number;
  readonly times: RecentTimes;
  readonly group: Group;
  /** Profile in the current bundle. */
  profiled: ProfiledTime | undefined;
  /** Batches that the group does not expect yet, by index in the curve of contention. */
  readonly unexpected: number[];
}

/** Batches of a variant of all sizes and kinds, and of all stages if it is cut. */
interface Group {
  readonly labels: Labels;
  readonly measured: Histogram;
  readonly expected: Histogram;
}

/** Times that a server measured, from which `profile --from` makes a profile. */
export interface MeasuredTimes {
  /** Mean number of batches that ran at once. */
  readonly busyWorkers: number;
  readonly cells: readonly MeasuredCell[];
}

/** Batches of one size. Besides it has the labels of its variant and kind. */
interface MeasuredCell {
  readonly batch: number;
  /** Number since the start. */
  readonly batches: number;
  /** Quantiles of the last 5 to 10 minutes, and the mean since the start; null if none ran. */
  readonly ms: {
    readonly p50: number;
    readonly p95: number;
    readonly p99: number;
    readonly mean: number;
  } | null;
}

/** Maximum number of cells; other batches are not counted. */
const MAX_CELLS = 4096;
const MAX_KINDS = 1024;
const MAX_ROWS = 65_536;

/** Feeds of schedulers; all memory is bounded by the variants and batches of the bundle. */
export class ServiceTimes {
  readonly #nowMs: () => number;
  readonly #startMs: number;
  readonly #cells = new Map<number, Cell>();
  /** Keyed by variant and task. */
  readonly #groups = new Map<string, Group>();
  readonly #bounds: readonly number[];
  #profiled: ProfiledCells;
  #blocks: readonly VariantBlock[];

  /** @param nowMs monotonic clock. */
  constructor(profiled: ProfiledCells, nowMs: () => number) {
    this.#profiled = profiled;
    this.#nowMs = nowMs;
    this.#startMs = nowMs();
    this.#bounds = timeBoundsSeconds(profiled.sloMs);
    this.#blocks = profiled.variants.map(() => new VariantBlock(profiled.jitterMs));
  }

  get variants(): readonly Labels[] {
    return this.#profiled.variants;
  }

  onBatch({ variant, rows, kind, aroundMs, insideMs, endMs, busyWorkers }: TimedBatch): void {
    const cell = this.#cellOf(variant, rows, kind);
    if (cell === undefined) return;
    cell.times.add(aroundMs, endMs);
    cell.group.measured.observe(aroundMs / 1000);
    if (cell.profiled === undefined) return;
    const { contention } = this.#profiled;
    const busy = Math.max(1, Math.min(busyWorkers, contention?.length ?? 1)) - 1;
    cell.unexpected[busy] = (cell.unexpected[busy] ?? 0) + 1;
    const factor = contention?.[busy] ?? 1;
    const batch = { rows, insideMs: insideMs / factor, wayMs: aroundMs - insideMs };
    this.#blocks[variant]?.add(batch, cell.profiled, endMs);
  }

  /** Another bundle of the same variants decides from now on. */
  follow(profiled: ProfiledCells): void {
    this.#expect();
    this.#profiled = profiled;
    for (const cell of this.#cells.values()) {
      cell.profiled = profiled.profiled(cell.variant, cell.rows, cell.kind);
    }
    this.#blocks = profiled.variants.map(() => new VariantBlock(profiled.jitterMs));
  }

  /** The block of a variant that is full, which then begins anew; undefined before. */
  takeBlock(variant: number, nowMs: number): ServiceBlock | undefined {
    return this.#blocks[variant]?.take(nowMs);
  }

  /** Histograms by variant: of batch sizes and kinds there may be too many. */
  lines(): MetricLine[] {
    this.#expect();
    const groups = [...this.#groups.values()];
    return [
      head(TIMES, "histogram", "Time of batches with transfers"),
      ...groups.flatMap(({ labels, measured }) => measured.lines(TIMES, labels)),
      ...expectedTimeLines(
        "service_time",
        groups.map(({ labels, expected }) => [labels, expected]),
      ),
    ];
  }

  measured(): MeasuredTimes {
    const nowMs = this.#nowMs();
    const cells = [...this.#cells.values()].sort(byPlace);
    const busyMs = cells.reduce((sum, { times }) => sum + times.sumMs, 0);
    return {
      busyWorkers: busyMs / Math.max(1, nowMs - this.#startMs),
      cells: cells.map(({ variant, rows, kind, times }) => {
        const [p50 = NaN, p95 = NaN, p99 = NaN] = times.quantiles(QUANTILES, nowMs);
        const mean = times.sumMs / times.count;
        return {
          ...this.#profiled.variants[variant],
          ...this.#profiled.kindLabels(kind),
          batch: rows,
          batches: times.count,
          ms: Number.isNaN(p50) ? null : { p50, p95, p99, mean },
        };
      }),
    };
  }

  /** Adds to each group what the profile says of its batches since the last call. */
  #expect(): void {
    const { contention = [] } = this.#profiled;
    for (const { unexpected, profiled, group } of this.#cells.values()) {
      if (profiled === undefined) continue;
      const knots = profiled.knots ?? new Float64Array(KNOT_COUNT).fill(profiled.decisionMs);
      for (const [busy, count] of unexpected.entries()) {
        if (count > 0) expectTimes(group.expected, count, knots, contention[busy]);
      }
      unexpected.length = 0;
    }
  }

  #cellOf(variant: number, rows: number, kind: number): Cell | undefined {
    const key = (variant * MAX_KINDS + kind) * MAX_ROWS + rows;
    const known = this.#cells.get(key);
    if (known !== undefined || this.#cells.size >= MAX_CELLS) return known;
    const cell: Cell = {
      ...{ variant, rows, kind },
      times: new RecentTimes(this.#nowMs()),
      group: this.#groupOf(variant),
      profiled: this.#profiled.profiled(variant, rows, kind),
      unexpected: [],
    };
    this.#cells.set(key, cell);
    return cell;
  }

  #groupOf(variant: number): Group {
    const { stage: _, ...labels } = this.#profiled.variants[variant] ?? {};
    const key = JSON.stringify(labels);
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const histogram = () => new Histogram(this.#bounds);
    const group = { labels, measured: histogram(), expected: histogram() };
    this.#groups.set(key, group);
    return group;
  }
}

function byPlace(one: Cell, other: Cell): number {
  return one.variant - other.variant || one.kind - other.kind || one.rows - other.rows;
}

/** Quantiles are over the last one to two of these. */
const SPAN_MS = 300_000;

class RecentTimes {
  /** Number since the start. */
  count = 0;
  sumMs = 0;
  #now = new TimeSketch();
  #before = new TimeSketch();
  #sinceMs: number;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  add(ms: number, nowMs: number): void {
    if (nowMs - this.#sinceMs >= SPAN_MS) this.#turn(nowMs);
    this.count++;
    this.sumMs += ms;
    this.#now.add(ms);
  }

  /**
   * Quantiles of the last 5 to 10 minutes. @param shares in (0, 1]. @returns ms; NaN where nothing
   * ran in that time.
   */
  quantiles(shares: readonly number[], nowMs: number): number[] {
    if (nowMs - this.#sinceMs >= SPAN_MS) this.#turn(nowMs);
    const all = new TimeSketch();
    all.merge(this.#now);
    all.merge(this.#before);
    return shares.map((share) => all.quantile(share));
  }

  #turn(nowMs: number): void {
    [this.#now, this.#before] = [this.#before, this.#now];
    this.#now.clear();
    // Samples older than two spans are in neither half.
    if (nowMs - this.#sinceMs >= 2 * SPAN_MS) this.#before.clear();
    this.#sinceMs = nowMs;
  }
}
