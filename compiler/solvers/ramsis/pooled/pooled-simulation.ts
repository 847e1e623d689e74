/**
 * The pooled cluster under given arrivals and service times: what tuning measures, and what a level promises.
 *
 * It follows the dispatcher of the runtime event by event (a test compares the two), but for one fixed level, without deadlines of their own, and
 * with nothing to report but sums; that makes it some ten times as fast as driving the dispatcher.
 */
import { type BatchDistribution, GIVE_UP, NO_ACTION } from "../../../../runtime/bundle/schema.ts";
import type { PooledAction, PooledProblem } from "./pooled-problem.ts";

/** A cell that is decided when it is first looked at. */
export const UNDECIDED = GIVE_UP - 1;

/** Decides a cell: queries that wait, slack in ms. */
export type Decide = (queued: number, slackMs: number) => number;

/** What the policy does not choose. */
export interface Surroundings {
  /** Ascending. */
  readonly arrivalMs: Float64Array;
  /** Of each arrival, where these are not all as far from it as the problem's SLO says. */
  readonly deadlineMs?: Float64Array | undefined;
  /** What a batch takes, asked once for each in the order of their starts. */
  readonly nextServiceMs: (variant: number, batch: number) => number;
}

export interface PooledOutcome {
  readonly queries: number;
  /** Served after their deadline, or refused because the queue was full. */
  readonly violations: number;
  /** Sum over the queries served in time. */
  readonly accuracySum: number;
  /** Batches whose earliest deadline was met, by variant. */
  readonly timelyBatches: Float64Array;
  readonly lateBatches: number;
}

/** Of the runtime's dispatcher; see `Policy` there. */
const SLACK_ROUNDING_MS = 1e-6;

/** @param cells shape (capacity, slackCount): actions, NO_ACTION to wait, GIVE_UP, or UNDECIDED. */
export function simulatePooled(
  problem: PooledProblem,
  surroundings: Surroundings,
  cells: Uint16Array,
  decideCell: Decide,
): PooledOutcome {
  const run = new PooledRun(problem, surroundings, cells, decideCell);
  run.run();
  return run.outcome();
}

class PooledRun {
  readonly #problem: PooledProblem;
  readonly #arrivalMs: Float64Array;
  readonly #deadlineMs: Float64Array;
  readonly #nextServiceMs: Surroundings["nextServiceMs"];
  readonly #cells: Uint16Array;
  readonly #decideCell: Decide;
  /** Completion times of the busy workers, a binary heap. */
  readonly #doneMs: Float64Array;
  #busy = 0;
  /** Queries that wait, earliest deadline first: indices of arrivals. */
  readonly #queue: Ring;
  /** Queries that were given up, the longest waiting first. */
  readonly #late: Ring;
  #wakeMs = Number.POSITIVE_INFINITY;
  #violations = 0;
  #accuracySum = 0;
  readonly #timelyBatches: Float64Array;
  #lateBatches = 0;

  constructor(
    problem: PooledProblem,
    { arrivalMs, deadlineMs, nextServiceMs }: Surroundings,
    cells: Uint16Array,
    decideCell: Decide,
  ) {
    this.#problem = problem;
    this.#arrivalMs = arrivalMs;
    this.#deadlineMs = deadlineMs ?? arrivalMs.map((ms) => ms + problem.sloMs);
    this.#nextServiceMs = nextServiceMs;
    this.#cells = cells;
    this.#decideCell = decideCell;
    this.#doneMs = new Float64Array(problem.workerCount);
    this.#queue = new Ring(problem.capacity, this.#deadlineMs);
    this.#late = new Ring(problem.capacity, this.#deadlineMs);
    const variants = problem.actions.map(({ variant }) => variant);
    this.#timelyBatches = new Float64Array(1 + Math.max(...variants));
  }

  run(): void {
    const { workerCount } = this.#problem;
    const arrivals = this.#arrivalMs;
    let next = 0;
    for (;;) {
      const arriveMs = arrivals[next] ?? Number.POSITIVE_INFINITY;
      const doneMs = this.#busy > 0 ? (this.#doneMs[0] ?? 0) : Number.POSITIVE_INFINITY;
      if (arriveMs <= doneMs && arriveMs <= this.#wakeMs) {
        if (arriveMs === Number.POSITIVE_INFINITY) return;
        this.#arrive(next++);
        // Nothing waits for a time while every worker is busy.
        if (this.#busy < workerCount) this.#startBatches(arriveMs);
      } else if (doneMs <= this.#wakeMs) {
        this.#popDone();
        this.#startBatches(doneMs);
      } else this.#startBatches(this.#wakeMs);
    }
  }

  outcome(): PooledOutcome {
    return {
      queries: this.#arrivalMs.length,
      violations: this.#violations,
      accuracySum: this.#accuracySum,
      timelyBatches: this.#timelyBatches,
      lateBatches: this.#lateBatches,
    };
  }

  #arrive(query: number): void {
    const queue = this.#queue;
    if (queue.length === this.#problem.capacity) this.#violations++;
    else queue.push(query);
  }

  #startBatches(nowMs: number): void {
    const { workerCount, slackMs, actions, leastSlackMs } = this.#problem;
    const slackCount = slackMs.length;
    const queue = this.#queue;
    this.#wakeMs = Number.POSITIVE_INFINITY;
    while (this.#busy < workerCount && queue.length > 0) {
      const deadlineMs = this.#deadlineOf(queue.first());
      if (deadlineMs < nowMs + leastSlackMs) {
        this.#giveUp();
        continue;
      }
      const slack = deadlineMs - nowMs + SLACK_ROUNDING_MS;
      const column = columnOf(slackMs, slack);
      const row = (queue.length - 1) * slackCount;
      const action = this.#cell(row, column);
      if (action === GIVE_UP) {
        this.#giveUp();
        continue;
      }
      if (action === NO_ACTION) {
        let until = column;
        while (until > 0 && this.#cell(row, until - 1) === NO_ACTION) until--;
        this.#wakeMs = nowMs + slack - (slackMs[until] ?? 0) + SLACK_ROUNDING_MS;
        return;
      }
      const started = actions[action];
      if (started === undefined) throw new RangeError("a cell holds an action");
      this.#serve(queue, started, nowMs);
    }
    this.#serveLate(nowMs);
  }

  /** Of more late queries than may wait, the one that is late the longest goes. */
  #giveUp(): void {
    const { capacity, drops } = this.#problem;
    const query = this.#queue.take();
    if (drops) {
      this.#violations++;
      return;
    }
    if (this.#late.length === capacity) {
      this.#late.take();
      this.#violations++;
    }
    this.#late.push(query);
  }

  #serveLate(nowMs: number): void {
    const { workerCount, rescues } = this.#problem;
    while (this.#busy < workerCount && this.#late.length > 0) {
      const rescue = rescues[Math.min(this.#late.length, rescues.length) - 1];
      if (rescue === undefined) throw new RangeError("there is a rescue for one query");
      this.#serve(this.#late, rescue, nowMs);
    }
  }

  #deadlineOf(query: number): number {
    return this.#deadlineMs[query] ?? 0;
  }

  #cell(row: number, column: number): number {
    const known = this.#cells[row + column] ?? NO_ACTION;
    if (known !== UNDECIDED) return known;
    const { slackMs } = this.#problem;
    const decided = this.#decideCell(1 + row / slackMs.length, slackMs[column] ?? 0);
    this.#cells[row + column] = decided;
    return decided;
  }

  #serve(queue: Ring, { variant, batch, accuracy }: PooledAction, nowMs: number): void {
    const doneMs = nowMs + this.#nextServiceMs(variant, batch);
    for (let taken = 0; taken < batch; taken++) {
      const isTimely = doneMs <= this.#deadlineOf(queue.take());
      if (isTimely) this.#accuracySum += accuracy;
      else this.#violations++;
      if (taken > 0) continue;
      if (isTimely) this.#timelyBatches[variant] = (this.#timelyBatches[variant] ?? 0) + 1;
      else this.#lateBatches++;
    }
    this.#pushDone(doneMs);
  }

  #pushDone(timeMs: number): void {
    const heap = this.#doneMs;
    let child = this.#busy++;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      const parentMs = heap[parent] ?? 0;
      if (parentMs <= timeMs) break;
      heap[child] = parentMs;
      child = parent;
    }
    heap[child] = timeMs;
  }

  #popDone(): void {
    const heap = this.#doneMs;
    const size = --this.#busy;
    const lastMs = heap[size] ?? 0;
    let parent = 0;
    for (;;) {
      let child = 2 * parent + 1;
      if (child >= size) break;
      if (child + 1 < size && (heap[child + 1] ?? 0) < (heap[child] ?? 0)) child++;
      const childMs = heap[child] ?? 0;
      if (childMs >= lastMs) break;
      heap[parent] = childMs;
      parent = child;
    }
    heap[parent] = lastMs;
  }
}

/** Earliest deadline first, and of equal deadlines first in, first out, in a fixed memory. */
class Ring {
  length = 0;
  readonly #items: Uint32Array;
  readonly #deadlineMs: Float64Array;
  #head = 0;

  /** @param deadlineMs by item. */
  constructor(capacity: number, deadlineMs: Float64Array) {
    this.#items = new Uint32Array(capacity);
    this.#deadlineMs = deadlineMs;
  }

  first(): number {
    return this.#items[this.#head] ?? 0;
  }

  push(item: number): void {
    const items = this.#items;
    const deadlineMs = this.#deadlineMs[item] ?? 0;
    let place = this.#placeOf(this.length++);
    for (let position = this.length - 2; position >= 0; position--) {
      const before = this.#placeOf(position);
      const other = items[before] ?? 0;
      if ((this.#deadlineMs[other] ?? 0) <= deadlineMs) break;
      items[place] = other;
      place = before;
    }
    items[place] = item;
  }

  #placeOf(position: number): number {
    const place = this.#head + position;
    return place < this.#items.length ? place : place - this.#items.length;
  }

  take(): number {
    const item = this.first();
    this.#head = this.#head + 1 === this.#items.length ? 0 : this.#head + 1;
    this.length--;
    return item;
  }
}

/** Index of the last grid entry that is not above a slack, 0 for a negative one. The grid is uniform but for rounding. */
function columnOf(grid: Float64Array, slackMs: number): number {
  const last = grid.length - 1;
  const end = grid[last] ?? 0;
  if (slackMs >= end) return last;
  if (!(slackMs > 0)) return 0;
  let column = Math.floor((slackMs * last) / end);
  if ((grid[column] ?? 0) > slackMs) column--;
  else if ((grid[column + 1] ?? 0) <= slackMs) column++;
  return column;
}

/** Accuracy and lateness that half, and 99 %, of the batches have at least, or at most. */
export function batchDistribution(
  problem: PooledProblem,
  { timelyBatches, lateBatches }: PooledOutcome,
): BatchDistribution {
  const accuracyOf = new Map(problem.actions.map(({ variant, accuracy }) => [variant, accuracy]));
  const descending = Array.from(timelyBatches, (count, variant) => {
    return { count, accuracy: accuracyOf.get(variant) ?? 0 };
  }).sort((a, b) => b.accuracy - a.accuracy);
  const total = timelyBatches.reduce((sum, count) => sum + count, lateBatches);
  const reachedBy = (share: number): number => {
    let reached = 0;
    for (const { count, accuracy } of descending) {
      reached += count;
      if (reached >= share * total) return accuracy;
    }
    return 0;
  };
  const late = lateBatches / total;
  return {
    accuracy: { median: reachedBy(0.5), p99: reachedBy(0.99) },
    violationRate: { median: late > 0.5 ? 1 : 0, p99: late > 0.01 ? 1 : 0 },
  };
}
