/**
 * One worker and its queue as a semi-Markov decision process on the cells of the table;
 * `fast-server.ts`, whose objective and actions it has, approximates many workers by a fast one.
 *
 * A cell is a range of slacks, so of ages of the first query. Values are linear in the age within a
 * cell and may jump between cells, as timeliness does. The others came at uniform times within the
 * age of the first: exact, except for those that a part of the queue left behind. The next one's
 * age is then an order statistic.
 *
 * Solved by modified policy iteration: a greedy step in every cell, then sweeps of its policy.
 */
import { GIVE_UP } from "stratagem-runtime/internal/bundle/schema";
import { binomialProbability, orderStatisticBelow } from "../../../../numeric/binomial.ts";
import { poissonWindow } from "../../../../numeric/poisson.ts";
import type { ActionWorth, Look, Prices, Solver } from "./fast-server.ts";
import type { PooledAction, PooledProblem } from "./pooled-problem.ts";

const MOST_ROUNDS = 12;
const SWEEPS_PER_ROUND = 6;
/** Tolerances of the gain, in accuracy per query, and of the states that still change. */
const TOLERANCE = 1e-5;
const FEW = 1e-3;
/** States times service times, above which a solution takes too long. */
const MOST_WORK = 5e4;
/** Points that represent the age of the first remaining query. */
const POINTS = 8;
/** Parts of the time beyond the deadline. */
const LATE_PARTS = 16;
/** Even parts of the SLO, which index the cell of an age. */
const AGE_PARTS = 512;
const NEGLIGIBLE = 1e-9;
/** Accuracy by which waiting must be better. */
const TIE = 2e-5;
const WAITS = -1;
const GIVES_UP = -2;

/** Returns whether the process is solved exactly. */
export function isOneWorker(problem: PooledProblem): boolean {
  const { workerCount, slowdown, dispersion, classes, choices, capacity, slackMs } = problem;
  const isPlain = workerCount === 1 && slowdown === 1 && dispersion === 1 && classes.length === 1;
  const isSure =
    choices.length > 0 && choices.every(({ meanMs, serviceMs }) => meanMs === serviceMs);
  return isPlain && isSure && capacity * slackMs.length * choices.length <= MOST_WORK;
}

/** Values of queues and times until they are there, by index. */
type Pair = readonly [Float64Array, Float64Array];

/** Weights of values, by their index, and the queries that find the queue full. */
interface Row {
  readonly at: number[];
  readonly weight: number[];
  readonly lost: number;
}

export class OneWorker implements Solver {
  /** Reward per ms. */
  gain = 0;
  readonly #problem: PooledProblem;
  /** Ages that end a cell, ascending from 0 to the SLO. */
  readonly #ageMs: Float64Array;
  /** Values of a queue: of the youngest and the oldest age of each cell, then of late ones. */
  readonly #width: number;
  readonly #lateMs: number;
  /** The cell where each part of the SLO starts. */
  readonly #cellByPart: Uint16Array;
  /** Value by queue less its age; the first one is of an empty queue. */
  #pair: Pair;
  readonly #choice: Int32Array;
  /** Probability of each number of arrivals while an action runs. */
  readonly #counts: readonly Float64Array[];
  /** Value after a batch of all queries, by action. */
  readonly #emptied: readonly Row[];
  /** Queries that came within the SLO. */
  readonly #fresh: readonly Row[];
  /** Position of the first query, by queries left and queries waiting, in parts of the age. */
  readonly #parts: Float64Array[] = [];
  /** Value by action of the queue that a batch leaves, at the age when it ends. */
  readonly #moved: (Pair | undefined)[] = [];
  #prices: Prices = { violationPrice: 0, credit: 0, latencyPrice: 0 };
  // Values of the action that was followed last.
  #worth = 0;
  #spent = 0;

  constructor(problem: PooledProblem) {
    const { sloMs, slackMs, choices, capacity, arrivalsPerMs } = problem;
    this.#problem = problem;
    this.#ageMs = Float64Array.from(slackMs, (ms) => sloMs - ms).reverse();
    this.#cellByPart = Uint16Array.from({ length: AGE_PARTS + 1 }, (_, part) =>
      this.#ageMs.findIndex((ms) => ms >= (part * sloMs) / AGE_PARTS),
    );
    this.#width = 2 * this.#ageMs.length + LATE_PARTS + 1;
    this.#lateMs = Math.max(...choices.map(({ meanMs }) => meanMs)) / LATE_PARTS;
    this.#pair = this.#nothing();
    this.#choice = new Int32Array((capacity + 1) * this.#ageMs.length).fill(GIVES_UP);
    this.#counts = choices.map(({ meanMs }) => {
      const { first, pmf } = poissonWindow(arrivalsPerMs * meanMs, NEGLIGIBLE);
      return Float64Array.from([...new Float64Array(first), ...pmf]);
    });
    this.#emptied = choices.map(({ meanMs }, at) => this.#firstOf(this.#counts[at]!, meanMs));
    this.#fresh = Array.from({ length: capacity }, (_, queued) => {
      const counts = new Float64Array(queued + 1);
      counts[queued] = 1;
      return this.#firstOf(counts, sloMs);
    });
  }

  solution(): () => void {
    const [pair, gain, prices] = [this.#pair, this.gain, this.#prices];
    return () => {
      if (pair !== this.#pair) this.#moved.length = 0;
      [this.#pair, this.gain, this.#prices] = [pair, gain, prices];
    };
  }

  solve(prices: Prices): void {
    this.#prices = prices;
    const [value, time] = this.#pair;
    this.#pair = [value.slice(), time.slice()];
    const tolerance = TOLERANCE * this.#problem.arrivalsPerMs;
    const few = FEW * this.#choice.length;
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const { changed, correction } = this.#sweep(true);
      if (changed <= few && Math.abs(correction) < tolerance) break;
      for (let sweep = 0; sweep < SWEEPS_PER_ROUND; sweep++) this.#sweep(false);
    }
    this.#moved.length = 0;
  }

  look(queued: number, slackMs: number): Look {
    const cell = this.#cellOf(slackMs);
    const [best = null] = this.#ranked(queued, cell);
    const givenUp = this.#worthOf(GIVES_UP, queued, cell);
    const isServed = best !== null && best.worth > givenUp;
    const chosen = isServed ? best.action.index : GIVE_UP;
    const least = isServed ? best.worth : givenUp;
    const waitAdvantage = this.#mayWait(queued, cell)
      ? this.#worthOf(WAITS, queued, cell) - least - TIE
      : Number.NEGATIVE_INFINITY;
    return { chosen, waitAdvantage };
  }

  /** Every batch that can be formed now and ends in time, best first. */
  worths(queued: number, slackMs: number): ActionWorth[] {
    return this.#ranked(queued, this.#cellOf(slackMs));
  }

  #ranked(queued: number, cell: number): ActionWorth[] {
    return this.#problem.choices
      .flatMap((action, at) =>
        this.#isPossible(action, queued, cell)
          ? [{ action, worth: this.#worthOf(at, queued, cell) }]
          : [],
      )
      .sort((a, b) => b.worth - a.worth);
  }

  #nothing(): [Float64Array, Float64Array] {
    const length = (this.#problem.capacity + 1) * this.#width;
    return [new Float64Array(length), new Float64Array(length)];
  }

  #cellOf(slackMs: number): number {
    const { slackMs: grid } = this.#problem;
    return (
      grid.length -
      1 -
      Math.max(
        0,
        grid.findLastIndex((ms) => ms <= slackMs),
      )
    );
  }

  #isPossible({ batch, serviceMs }: PooledAction, queued: number, cell: number): boolean {
    const { slackMs } = this.#problem;
    return batch <= queued && serviceMs <= slackMs[slackMs.length - 1 - cell]!;
  }

  #mayWait(queued: number, cell: number): boolean {
    return cell + 1 < this.#ageMs.length && queued < this.#problem.capacity;
  }

  /**
   * Recomputes the values of all states, the oldest first.
   * @param isGreedy whether each takes the best action, or keeps its own.
   */
  #sweep(isGreedy: boolean): { readonly changed: number; readonly correction: number } {
    const { capacity, arrivalsPerMs, choices } = this.#problem;
    const [value, time] = this.#pair;
    this.#moved.length = 0;
    value[0] = value[this.#width]! - this.gain / arrivalsPerMs;
    time[0] = time[this.#width]! + 1 / arrivalsPerMs;
    if (isGreedy) this.#sweepLate();
    let changed = 0;
    for (let cell = this.#ageMs.length - 1; cell >= 0; cell--) {
      for (let queued = capacity; queued >= 1; queued--) {
        const state = queued * this.#ageMs.length + cell;
        if (isGreedy) {
          let [best, worth] = [GIVES_UP, this.#worthOf(GIVES_UP, queued, cell)];
          const consider = (action: number): void => {
            const own = this.#worthOf(action, queued, cell);
            if (own > worth) [best, worth] = [action, own];
          };
          for (let action = 0; action < choices.length; action++) {
            if (this.#isPossible(choices[action]!, queued, cell)) consider(action);
          }
          if (this.#mayWait(queued, cell)) consider(WAITS);
          if (best !== this.#choice[state]) changed++;
          this.#choice[state] = best;
        }
        for (const end of [1, 0]) {
          this.#follow(this.#choice[state]!, queued, cell, end);
          value[queued * this.#width + 2 * cell + end] = this.#worth;
          time[queued * this.#width + 2 * cell + end] = this.#spent;
        }
      }
    }
    const [zero, passed] = [value[this.#width]!, time[this.#width]!];
    const correction = zero / passed;
    this.gain += correction;
    for (let at = 0; at < value.length; at++) value[at]! -= correction * time[at]!;
    time.fill(0);
    return { changed, correction };
  }

  /** Drops the first query, which is late, with all other late ones. */
  #sweepLate(): void {
    const { capacity, sloMs } = this.#problem;
    const { violationPrice } = this.#prices;
    const [value, time] = this.#pair;
    const [worths, times] = [new Float64Array(capacity), new Float64Array(capacity)];
    for (let queued = 0; queued < capacity; queued++) {
      [this.#worth, this.#spent] = [0, 0];
      this.#add(this.#fresh[queued]!);
      [worths[queued], times[queued]] = [this.#worth, this.#spent];
    }
    for (let part = 0; part <= LATE_PARTS; part++) {
      const inTime = sloMs / (sloMs + part * this.#lateMs);
      for (let queued = 1; queued <= capacity; queued++) {
        const own = queued * this.#width + 2 * this.#ageMs.length + part;
        let [worth, spent] = [0, 0];
        for (let count = queued - 1; count >= 0; count--) {
          const chance = binomialProbability(count, queued - 1, inTime);
          worth += chance * (worths[count]! - (queued - count) * violationPrice);
          spent += chance * times[count]!;
        }
        [value[own], time[own]] = [worth, spent];
      }
    }
  }

  /** The mean over the ages of a cell. */
  #worthOf(action: number, queued: number, cell: number): number {
    this.#follow(action, queued, cell, 0);
    const young = this.#worth;
    this.#follow(action, queued, cell, 1);
    return (young + this.#worth) / 2;
  }

  /** @param end of the cell, 0 for its youngest age and 1 for its oldest. */
  #follow(action: number, queued: number, cell: number, end: number): void {
    const { violationPrice, latencyPrice } = this.#prices;
    const ageMs = this.#ageMs[Math.max(0, cell - 1 + end)]!;
    if (action === WAITS) {
      this.#wait(queued, cell, end);
      return;
    }
    [this.#worth, this.#spent] = [0, 0];
    if (action === GIVES_UP) {
      this.#worth = -violationPrice;
      this.#spread(this.#pair, queued, queued - 1, ageMs, 0);
      return;
    }
    const { batch, accuracy, meanMs } = this.#problem.choices[action]!;
    const latencyMs = ageMs * (1 - (batch - 1) / (2 * queued)) + meanMs;
    const cost = (latencyPrice * latencyMs) / this.#problem.sloMs;
    this.#worth = batch * (accuracy - cost) - this.gain * meanMs;
    this.#spent = meanMs;
    this.#spread(this.#movedBy(action), queued, queued - batch, ageMs, meanMs);
  }

  /** Waits until a query arrives or the age falls into the next cell. */
  #wait(queued: number, cell: number, end: number): void {
    const { arrivalsPerMs } = this.#problem;
    const [value, time] = this.#pair;
    const next = queued * this.#width + 2 * (cell + 1);
    const restMs = end === 1 || cell === 0 ? 0 : this.#ageMs[cell]! - this.#ageMs[cell - 1]!;
    const none = Math.exp(-arrivalsPerMs * restMs);
    const meanMs = (1 - none) / arrivalsPerMs;
    this.#worth = none * value[next]! - this.gain * meanMs;
    this.#spent = none * time[next]! + meanMs;
    if (restMs === 0) return;
    const young = next + this.#width - 2;
    const old = (meanMs - restMs * none) / restMs;
    this.#worth += (1 - none - old) * value[young]! + old * value[young + 1]!;
    this.#spent += (1 - none - old) * time[young]! + old * time[young + 1]!;
  }

  #add({ at, weight, lost }: Row): void {
    const [value, time] = this.#pair;
    this.#worth -= lost * this.#prices.violationPrice;
    for (let entry = 0; entry < at.length; entry++) {
      this.#worth += weight[entry]! * value[at[entry]!]!;
      this.#spent += weight[entry]! * time[at[entry]!]!;
    }
  }

  /** Spreads over the remaining queries, whose first has a part of the age and `moreMs`. */
  #spread(pair: Pair, queued: number, left: number, ageMs: number, moreMs: number): void {
    const [value, time] = pair;
    const { sloMs, capacity } = this.#problem;
    const own = queued * capacity + left;
    this.#parts[own] ??= orderQuantiles(left, queued - 1);
    const parts = this.#parts[own];
    for (const part of parts) {
      const ms = part * ageMs + moreMs;
      let at = left * this.#width;
      let far = 0;
      if (left > 0 && ms > sloMs) {
        const place = (ms - sloMs) / this.#lateMs;
        const late = Math.min(LATE_PARTS - 1, Math.floor(place));
        at += 2 * this.#ageMs.length + late;
        far = place - late;
      } else if (left > 0 && ms > 0) {
        const cell = this.#cellAt(ms);
        const [from, to] = [this.#ageMs[cell - 1]!, this.#ageMs[cell]!];
        at += 2 * cell;
        far = (ms - from) / (to - from);
      }
      const near = 1 - far;
      this.#worth += (near * value[at]! + far * value[at + 1]!) / parts.length;
      this.#spent += (near * time[at]! + far * time[at + 1]!) / parts.length;
    }
  }

  /** The first cell whose oldest age is not below this. */
  #cellAt(ms: number): number {
    let cell = this.#cellByPart[Math.floor((ms * AGE_PARTS) / this.#problem.sloMs)]!;
    while (this.#ageMs[cell]! < ms) cell++;
    return cell;
  }

  /** Queries that arrive while a batch runs join the remaining ones. */
  #movedBy(action: number): Pair {
    const known = this.#moved[action];
    if (known !== undefined) return known;
    const { capacity, choices } = this.#problem;
    const { batch, meanMs } = choices[action]!;
    const [value, time] = this.#pair;
    const moved = this.#nothing();
    const [values, times] = moved;
    const [worth, spent] = [this.#worth, this.#spent];
    [this.#worth, this.#spent] = [0, 0];
    this.#add(this.#emptied[action]!);
    [values[0], times[0]] = [this.#worth, this.#spent];
    [this.#worth, this.#spent] = [worth, spent];
    const counts = this.#counts[action]!;
    // No remaining query is younger than the batch.
    const first = 2 * this.#cellAt(meanMs);
    for (let left = 1; left <= capacity - batch; left++) {
      for (let count = 0; count < counts.length; count++) {
        const chance = counts[count]!;
        const from = Math.min(capacity, left + count) * this.#width;
        const lost = Math.max(0, left + count - capacity) * this.#prices.violationPrice;
        for (let place = first, own = left * this.#width; place < this.#width; place++) {
          values[own + place]! += chance * (value[from + place]! - lost);
          times[own + place]! += chance * time[from + place]!;
        }
      }
    }
    this.#moved[action] = moved;
    return moved;
  }

  /** Queue and age of its first after this many queries arrived at uniform times. */
  #firstOf(counts: Float64Array, spanMs: number): Row {
    const { capacity } = this.#problem;
    const row: Row & { lost: number } = { at: [], weight: [], lost: 0 };
    const add = (at: number, weight: number): void => {
      row.at.push(at);
      row.weight.push(weight);
    };
    add(0, counts[0]!);
    for (let count = 1; count < counts.length; count++) {
      const chance = counts[count]!;
      if (chance < NEGLIGIBLE) continue;
      row.lost += chance * Math.max(0, count - capacity);
      const own = Math.min(capacity, count) * this.#width;
      for (let cell = 1; cell < this.#ageMs.length && this.#ageMs[cell - 1]! < spanMs; cell++) {
        const [from, to] = [this.#ageMs[cell - 1]!, this.#ageMs[cell]!];
        const [low, high] = [from / spanMs, Math.min(1, to / spanMs)];
        const mass = power(high, count) - power(low, count);
        const next = power(high, count + 1) - power(low, count + 1);
        const mean = (count / (count + 1)) * next * spanMs;
        const old = (mean - from * mass) / (to - from);
        add(own + 2 * cell, chance * (mass - old));
        add(own + 2 * cell + 1, chance * old);
      }
    }
    return row;
  }
}

/** Multiplied out, for the same bits everywhere. */
function power(base: number, exponent: number): number {
  let product = 1;
  for (let factor = 0; factor < exponent; factor++) product *= base;
  return product;
}

/** Equally likely points of the `left`-th smallest of this many uniform numbers. */
function orderQuantiles(left: number, others: number): Float64Array {
  if (left === 0) return Float64Array.of(0);
  const below = new Float64Array(1);
  return Float64Array.from({ length: POINTS }, (_, point) => {
    let [low, high] = [0, 1];
    for (let halving = 0; halving < 30; halving++) {
      const middle = (low + high) / 2;
      orderStatisticBelow(left, others, middle, below);
      if (below[0]! < (point + 0.5) / POINTS) low = middle;
      else high = middle;
    }
    return (low + high) / 2;
  });
}
