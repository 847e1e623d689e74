/**
 * The pooled cluster under given arrivals and service times: used for tuning and for promises.
 *
 * It follows the dispatcher of the runtime event by event (a test compares the two), but for one
 * fixed level, without client deadlines, and with only sums as results; that makes it some ten
 * times as fast as driving the dispatcher.
 */
import {
  type BatchDistribution,
  GIVE_UP,
  NO_ACTION,
} from "stratagem-runtime/internal/bundle/schema";
import {
  mixtureCoin,
  rowByQueued,
  SLACK_ROUNDING_MS,
} from "stratagem-runtime/internal/core/table-lookup";
import { LatePause } from "stratagem-runtime/internal/methods/ramsis/core/late-pause";
import { LatencySample, type LatencySummary } from "../../../../simulate/latency-sample.ts";
import { distributionOf } from "../batch-distribution.ts";
import { EarliestFirst } from "./earliest-first.ts";
import type { PooledAction, PooledProblem } from "./pooled-problem.ts";

/** A cell that is decided on first use. */
export const UNDECIDED = GIVE_UP - 1;

/** Decides a cell of the table: waiting queries, slack in ms. */
export type Decide = (queued: number, slackMs: number, cell: number) => number;

/**
 * A table of decisions, shape (rowCount, slackCount): actions, NO_ACTION to wait, GIVE_UP, or
 * UNDECIDED.
 */
export interface DecisionTable {
  readonly cells: Uint16Array;
  /** Called for undecided cells. */
  readonly decideCell: Decide;
}

/** A table, or a random mixture of two, drawn at each decision. */
export interface SimulatedPolicy {
  readonly table: DecisionTable;
  /** @param share of the decisions, in (0, 1). */
  readonly mixture: { readonly table: DecisionTable; readonly share: number } | null;
}

/** Service time of a batch, called once for each in the order of their starts. */
export type NextServiceMs = (variant: number, batch: number) => number;

/** Inputs that the policy does not choose. */
export interface Surroundings {
  /** Ascending. */
  readonly arrivalMs: Float64Array;
  /**
   * The counted queries, first and end: those before fill the empty cluster, and those after keep
   * it filled.
   */
  readonly counted: readonly [number, number];
  /** Index of each query's class, or null if there is only one. */
  readonly classByQuery: Uint8Array | null;
  /** The same draws for every policy, so that no policy wins by luck. */
  readonly openServiceTimes: () => NextServiceMs;
}

export interface PooledOutcome {
  readonly queries: number;
  /** Served after their deadline, or rejected because the queue was full. */
  readonly violations: number;
  /** Sum over the queries served in time. */
  readonly accuracySum: number;
  /**
   * Violations in each of `BLOCKS` runs of as many queries, in arrival order: their spread gives
   * the error of the total.
   */
  readonly violationsByBlock: Float64Array;
  /** Batches whose earliest deadline was met, by variant. */
  readonly timelyBatches: Float64Array;
  readonly lateBatches: number;
  /** Latency of each query in arrival order, ms; −1 if it was not served. */
  readonly latencyMs: Float64Array;
  /** The part of it before the batch of the query began; likewise. */
  readonly queueMs: Float64Array;
}

export const BLOCKS = 20;

export function simulatePooled(
  problem: PooledProblem,
  surroundings: Surroundings,
  policy: SimulatedPolicy,
): PooledOutcome {
  const run = new PooledRun(problem, surroundings, policy);
  run.run();
  return run.outcome();
}

class PooledRun {
  readonly #problem: PooledProblem;
  readonly #arrivalMs: Float64Array;
  readonly #from: number;
  readonly #to: number;
  readonly #classByQuery: Uint8Array | null;
  readonly #nextServiceMs: NextServiceMs;
  readonly #policy: SimulatedPolicy;
  readonly #coin = mixtureCoin();
  readonly #rowByQueued: Uint16Array;
  readonly #columns: SlackColumns;
  /** Completion times of the busy workers, a binary heap. */
  readonly #doneMs: Float64Array;
  #busy = 0;
  /** Waiting queries: indices of arrivals. */
  readonly #queue: EarliestFirst;
  /** Queries that the policy gave up; they are served late. */
  readonly #late: EarliestFirst;
  #wakeMs = Number.POSITIVE_INFINITY;
  readonly #latePause = new LatePause();
  #violations = 0;
  #accuracySum = 0;
  readonly #violationsByBlock = new Float64Array(BLOCKS);
  readonly #timelyBatches: Float64Array;
  #lateBatches = 0;
  readonly #latencyMs: Float64Array;
  readonly #queueMs: Float64Array;

  constructor(
    problem: PooledProblem,
    { arrivalMs, counted, classByQuery, openServiceTimes }: Surroundings,
    policy: SimulatedPolicy,
  ) {
    this.#problem = problem;
    this.#arrivalMs = arrivalMs;
    [this.#from, this.#to] = counted;
    this.#classByQuery = classByQuery;
    this.#nextServiceMs = openServiceTimes();
    this.#policy = policy;
    this.#rowByQueued = rowByQueued(problem.rows);
    this.#columns = new SlackColumns(problem.slackMs);
    this.#doneMs = new Float64Array(problem.workerCount);
    const sloMs = problem.classes.map((one) => one.sloMs);
    this.#queue = new EarliestFirst(sloMs, arrivalMs, problem.capacity);
    this.#late = new EarliestFirst(sloMs, arrivalMs, problem.capacity);
    const variants = problem.actions.map(({ variant }) => variant);
    this.#timelyBatches = new Float64Array(1 + Math.max(...variants));
    this.#latencyMs = new Float64Array(this.#to - this.#from).fill(-1);
    this.#queueMs = this.#latencyMs.slice();
  }

  run(): void {
    const { workerCount } = this.#problem;
    const arrivals = this.#arrivalMs;
    let next = 0;
    for (;;) {
      const arriveMs = arrivals[next] ?? Number.POSITIVE_INFINITY;
      const doneMs = this.#busy > 0 ? this.#doneMs[0]! : Number.POSITIVE_INFINITY;
      if (arriveMs <= doneMs && arriveMs <= this.#wakeMs) {
        if (arriveMs === Number.POSITIVE_INFINITY) return;
        this.#arrive(next++);
        if (this.#busy < workerCount) this.#startBatches(arriveMs);
        else this.#wakeMs = Math.min(this.#wakeMs, Math.max(arriveMs, this.#dueMs()));
      } else if (doneMs <= this.#wakeMs) {
        this.#popDone();
        this.#startBatches(doneMs);
      } else this.#startBatches(this.#wakeMs);
    }
  }

  outcome(): PooledOutcome {
    return {
      queries: this.#to - this.#from,
      violations: this.#violations,
      accuracySum: this.#accuracySum,
      violationsByBlock: this.#violationsByBlock,
      timelyBatches: this.#timelyBatches,
      lateBatches: this.#lateBatches,
      latencyMs: this.#latencyMs,
      queueMs: this.#queueMs,
    };
  }

  #arrive(query: number): void {
    const queue = this.#queue;
    if (queue.length === this.#problem.capacity) this.#countViolation(query);
    else queue.push(query, this.#classByQuery === null ? 0 : this.#classByQuery[query]!);
  }

  #countViolation(query: number): void {
    if (query < this.#from || query >= this.#to) return;
    this.#violations++;
    const block = ((query - this.#from) * BLOCKS) / (this.#to - this.#from);
    this.#violationsByBlock[Math.floor(block)]!++;
  }

  #startBatches(nowMs: number): void {
    this.#dropDue(this.#queue, nowMs);
    this.#dropDue(this.#late, nowMs);
    this.#wakeMs = Number.POSITIVE_INFINITY;
    this.#decide(nowMs);
    this.#wakeMs = Math.min(this.#wakeMs, Math.max(nowMs, this.#dueMs()));
  }

  /** Drops the queries that no batch can answer within the limit any more. */
  #dropDue(queue: EarliestFirst, nowMs: number): void {
    const { lateMs, fastestMs } = this.#problem;
    while (queue.length > 0 && queue.earliestDeadlineMs() + lateMs - fastestMs <= nowMs) {
      this.#countViolation(queue.take());
    }
  }

  /** Time when a query that waits now must be dropped, if it still waits. */
  #dueMs(): number {
    const { lateMs, fastestMs } = this.#problem;
    let deadlineMs = Number.POSITIVE_INFINITY;
    if (this.#queue.length > 0) deadlineMs = this.#queue.earliestDeadlineMs();
    if (this.#late.length > 0) {
      deadlineMs = Math.min(deadlineMs, this.#late.earliestDeadlineMs());
    }
    return deadlineMs + lateMs - fastestMs;
  }

  #decide(nowMs: number): void {
    const { workerCount, slackMs, actions, leastSlackMs } = this.#problem;
    const { table, mixture } = this.#policy;
    const queue = this.#queue;
    while (this.#busy < workerCount && queue.length > 0) {
      const deadlineMs = queue.earliestDeadlineMs();
      if (deadlineMs < nowMs + leastSlackMs) {
        this.#giveUp();
        continue;
      }
      const slack = deadlineMs - nowMs + SLACK_ROUNDING_MS;
      const column = this.#columns.of(slack);
      const row = this.#rowByQueued[queue.length]!;
      const isOther = mixture !== null && this.#coin.nextFloat() < mixture.share;
      const asked = isOther ? mixture.table : table;
      const action = this.#cell(asked, row, column);
      if (action === GIVE_UP) {
        this.#giveUp();
        continue;
      }
      if (action === NO_ACTION) {
        let until = column;
        while (until > 0 && this.#cell(asked, row, until - 1) === NO_ACTION) until--;
        this.#wakeMs = nowMs + slack - slackMs[until]! + SLACK_ROUNDING_MS;
        return;
      }
      const started = actions[action];
      if (started === undefined) throw new RangeError("cell without an action");
      this.#serve(queue, started, nowMs);
    }
    this.#serveLate(nowMs);
  }

  /** Drops the query that is late the longest, if too many late queries wait. */
  #giveUp(): void {
    const { capacity, drops } = this.#problem;
    const queryClass = this.#queue.earliestClass();
    const query = this.#queue.take();
    if (drops) {
      this.#countViolation(query);
      return;
    }
    if (this.#late.length === capacity) this.#countViolation(this.#late.take());
    this.#late.push(query, queryClass);
  }

  #serveLate(nowMs: number): void {
    const { workerCount, rescues, lateMs } = this.#problem;
    while (this.#busy < workerCount && this.#late.length > 0) {
      const startMs = this.#latePause.endMs(workerCount - this.#busy, workerCount, nowMs);
      if (startMs > nowMs) {
        this.#wakeMs = startMs;
        return;
      }
      const leftMs = this.#late.earliestDeadlineMs() + lateMs - nowMs;
      let rescued = Math.min(this.#late.length, rescues.length);
      while (rescued > 0 && rescues[rescued - 1]!.serviceMs > leftMs) rescued--;
      const rescue = rescues[rescued - 1];
      if (rescue === undefined) {
        this.#countViolation(this.#late.take());
        continue;
      }
      this.#latePause.begin(rescue.serviceMs, workerCount, nowMs);
      this.#serve(this.#late, rescue, nowMs);
    }
  }

  #cell({ cells, decideCell }: DecisionTable, row: number, column: number): number {
    const { slackMs, rows } = this.#problem;
    const cell = row * slackMs.length + column;
    const known = cells[cell]!;
    if (known !== UNDECIDED) return known;
    const decided = decideCell(rows[row]!, slackMs[column]!, cell);
    cells[cell] = decided;
    return decided;
  }

  #serve(queue: EarliestFirst, { variant, batch, accuracy }: PooledAction, nowMs: number): void {
    const serviceMs = this.#nextServiceMs(variant, batch);
    const doneMs = nowMs + serviceMs;
    const count = Math.min(batch, queue.length);
    for (let taken = 0; taken < count; taken++) {
      const isTimely = doneMs <= queue.earliestDeadlineMs();
      const query = queue.take();
      const isCounted = query >= this.#from && query < this.#to;
      if (isCounted) {
        this.#latencyMs[query - this.#from] = doneMs - this.#arrivalMs[query]!;
        this.#queueMs[query - this.#from] = nowMs - this.#arrivalMs[query]!;
      }
      if (!isTimely) this.#countViolation(query);
      else if (isCounted) this.#accuracySum += accuracy;
      if (taken > 0 || !isCounted) continue;
      if (isTimely) this.#timelyBatches[variant]!++;
      else this.#lateBatches++;
    }
    // If workers serve no other queue, it is the very sum that queries are judged by.
    const { slowdown } = this.#problem;
    this.#pushDone(slowdown === 1 ? doneMs : nowMs + slowdown * serviceMs);
  }

  #pushDone(timeMs: number): void {
    const heap = this.#doneMs;
    let child = this.#busy++;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      const parentMs = heap[parent]!;
      if (parentMs <= timeMs) break;
      heap[child] = parentMs;
      child = parent;
    }
    heap[child] = timeMs;
  }

  #popDone(): void {
    const heap = this.#doneMs;
    const size = --this.#busy;
    const lastMs = heap[size]!;
    let parent = 0;
    for (;;) {
      let child = 2 * parent + 1;
      if (child >= size) break;
      if (child + 1 < size && heap[child + 1]! < heap[child]!) child++;
      const childMs = heap[child]!;
      if (childMs >= lastMs) break;
      heap[parent] = childMs;
      parent = child;
    }
    heap[parent] = lastMs;
  }
}

/**
 * Finds the last grid entry that is not above a slack, 0 for a negative one: a guess by even steps,
 * then a few steps up.
 */
class SlackColumns {
  readonly #grid: Float64Array;
  /** The column at the start of each of `#first.length − 1` even parts of the grid. */
  readonly #first: Uint16Array;
  readonly #partsPerMs: number;

  constructor(grid: Float64Array) {
    const parts = 4 * grid.length;
    const endMs = grid[grid.length - 1]!;
    this.#grid = grid;
    this.#partsPerMs = parts / endMs;
    this.#first = new Uint16Array(parts + 1);
    for (let part = 0, column = 0; part <= parts; part++) {
      while (column + 1 < grid.length && grid[column + 1]! <= (part * endMs) / parts) column++;
      this.#first[part] = column;
    }
  }

  of(slackMs: number): number {
    const grid = this.#grid;
    const last = grid.length - 1;
    if (slackMs >= grid[last]!) return last;
    if (!(slackMs > 0)) return 0;
    let column = this.#first[Math.floor(slackMs * this.#partsPerMs)]!;
    while (column > 0 && grid[column]! > slackMs) column--;
    while (grid[column + 1]! <= slackMs) column++;
    return column;
  }
}

/** Mean over the queries that were served, 0 if none was served. */
export function meanLatencyMs({ latencyMs }: Pick<PooledOutcome, "latencyMs">): number {
  let sum = 0;
  let served = 0;
  for (let query = 0; query < latencyMs.length; query++) {
    const ms = latencyMs[query]!;
    if (ms < 0) continue;
    sum += ms;
    served++;
  }
  return served === 0 ? 0 : sum / served;
}

/** Summary of times by query, −1 for one that was not served; null if none was served. */
export function servedSummary(msByQuery: Float64Array): LatencySummary | null {
  const sample = new LatencySample();
  for (let query = 0; query < msByQuery.length; query++) {
    const ms = msByQuery[query]!;
    if (ms >= 0) sample.record(ms);
  }
  return sample.summary();
}

/** Accuracy and lateness that 50 % and 99 % of the batches reach at least, or at most. */
export function batchDistribution(
  problem: PooledProblem,
  { timelyBatches, lateBatches }: PooledOutcome,
): BatchDistribution {
  const accuracyOf = new Map(problem.actions.map(({ variant, accuracy }) => [variant, accuracy]));
  const timely = Array.from(timelyBatches, (weight, variant) => {
    return { weight, accuracy: accuracyOf.get(variant) ?? 0 };
  });
  const total = timelyBatches.reduce((sum, count) => sum + count, lateBatches);
  return distributionOf(timely, total, lateBatches / total);
}
