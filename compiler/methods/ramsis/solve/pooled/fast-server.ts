/**
 * The decision problem of one queue and K workers, as that of one server that is K times as fast: a
 * semi-Markov decision process over the runtime's observations, the number of waiting queries and
 * the age of the first.
 *
 * Maximise the reward per time. States (n, A) are those in which a worker is free and n queries
 * wait, the first for A ms. Actions:
 * - start a batch of b on variant m, if l(m, b) ≤ SLO − A: reward b · accuracy less the price of
 * the latency of its queries, and the next decision l(m, b) / K later;
 * - drop the first query: reward −μ, μ being the price of a violation, at once;
 * - wait for the next query, or until the age falls into another column.
 * Queries are first in, first out, and arrivals are Poisson (or over-dispersed by a factor), so of
 * n queries the n − 1 after the first came at uniform times within its age. A batch of b out of n
 * queries leaves n − b, the first of which has the age A · Beta(n − b, b); until the next worker is
 * free A grows and a Poisson number joins. With an empty queue, the next state is one query of age
 * 0, 1/λ later.
 *
 * For one worker this is the process itself, except for the grid and the few points that represent
 * arrivals; small ones are solved without either (`one-worker.ts`). With many it has their capacity
 * and the latency of each batch, but workers become free at even intervals; the few numbers tuned
 * by simulation correct for that (`policy-search.ts`). As K grows with λ / K fixed, the noise of
 * the arrivals vanishes and the process becomes the fluid one of the bounds (`fluid-bound.ts`).
 *
 * Solved by modified policy iteration: greedy improvement, then Gauss–Seidel sweeps of the policy's
 * own equations until the gain stands still. Sources: Howard, "Dynamic Programming and Markov
 * Processes", 1960; Puterman, "Markov Decision Processes", 1994, §8.7 and §11.4. The process of a
 * single worker: RAMSIS §4.
 */
import { GIVE_UP } from "stratagem-runtime/internal/bundle/schema";
import type { PooledAction, PooledProblem } from "./pooled-problem.ts";
import { isCheaper, type ServedAction, servedActions } from "./served-actions.ts";
import { StateGrid } from "./state-grid.ts";
import { Successors } from "./successors.ts";

/** Decisions within an SLO, above which several batches form one step. */
const STEPS_PER_SLO = 96;
const MAX_IMPROVEMENTS = 10;
const MAX_CYCLES = 8;
/** Default tolerance of the gain, in accuracy per query. */
const GAIN_TOLERANCE = 2e-6;
/**
 * Improvements of the first solution that evaluate all actions of a state, and the number of best
 * ones that later improvements evaluate.
 */
const FULL_ROUNDS = 3;
const SHORTLIST = 8;
const NO_ENTRY = -3;
/**
 * Accuracy difference that counts as equal: then the server does not wait, and takes the larger
 * batch of no more time per query.
 */
const TIE = 1e-3;
const WAITS = -1;
const GIVES_UP = -2;

/** Worth of a state's choice. */
export interface ActionWorth {
  readonly action: PooledAction;
  readonly worth: number;
}

/** A state's choice without waiting, an action or GIVE_UP, and the additional worth of waiting. */
export interface Look {
  readonly chosen: number;
  readonly waitAdvantage: number;
}

export interface Prices {
  /** μ, in accuracy. */
  readonly violationPrice: number;
  readonly credit: number;
  readonly latencyPrice: number;
}

/** Problem that prices are solved for. */
export interface Solver {
  readonly solve: (prices: Prices) => void;
  /** @returns a function that restores the last solution. */
  readonly solution: () => () => void;
  readonly look: (queued: number, slackMs: number) => Look;
  readonly worths: (queued: number, slackMs: number) => ActionWorth[];
}

export class FastServer implements Solver {
  /** Reward per ms of the policy found last. */
  gain = 0;
  /** Number of improvements, over all solutions. */
  iterations = 0;
  readonly #problem: PooledProblem;
  readonly #grid: StateGrid;
  /** Successors of the action that was evaluated last. */
  readonly #next: Successors;
  readonly #ratePerMs: number;
  readonly #gainTolerance: number;
  #value: Float64Array;
  readonly #actions: readonly ServedAction[];
  readonly #choice: Int32Array;
  /**
   * Shape (stateCount, SHORTLIST): actions by their worth at the last full evaluation, NO_ENTRY if
   * there are fewer.
   */
  #shortlist: Int32Array;
  readonly #shortWorth = new Float64Array(SHORTLIST);
  /** Worth of an additional query, as the transition rows count it below the band. */
  #perQuery = 0;
  // State that is being evaluated.
  #lookNumber = 0;
  #chosen = -1;
  #best = 0;
  /** The evaluation that considered each action last. */
  readonly #seenAt: Uint32Array;
  /** Indices of the actions of each variant, by batch. */
  readonly #byVariant = new Map<number, number[]>();
  // Transition rows of a policy.
  readonly #start: Int32Array;
  #target: Int32Array;
  #weight: Float64Array;
  readonly #rewardOf: Float64Array;
  readonly #durationOf: Float64Array;
  readonly #time: Float64Array;

  /** @param gainTolerance accuracy per query; sweeps end when the gain changes less. */
  constructor(problem: PooledProblem, gainTolerance = GAIN_TOLERANCE) {
    const { sloMs, workerCount, choices, arrivalsPerMs } = problem;
    this.#problem = problem;
    this.#gainTolerance = gainTolerance;
    this.#ratePerMs = arrivalsPerMs;
    this.#actions = servedActions(problem);
    this.#seenAt = new Uint32Array(this.#actions.length);
    this.#actions.forEach(({ action: { variant } }, index) => {
      this.#byVariant.set(variant, [...(this.#byVariant.get(variant) ?? []), index]);
    });
    const fastestMs = Math.min(sloMs, ...choices.map(({ meanMs }) => meanMs));
    const batchesPerStep = Math.max(
      1,
      Math.round((workerCount * sloMs) / (fastestMs * STEPS_PER_SLO)),
    );
    const maxBatch = this.#actions.at(-1)?.batch ?? 1;
    this.#grid = new StateGrid({ problem, batchesPerStep, maxBatch });
    this.#next = new Successors(problem, this.#grid, batchesPerStep);
    const { stateCount, entryCount } = this.#grid;
    this.#value = new Float64Array(entryCount);
    this.#time = new Float64Array(entryCount);
    this.#choice = new Int32Array(stateCount).fill(Number.MIN_SAFE_INTEGER);
    this.#shortlist = new Int32Array(stateCount * SHORTLIST).fill(NO_ENTRY);
    this.#start = new Int32Array(stateCount + 1);
    this.#target = new Int32Array(stateCount * 40);
    this.#weight = new Float64Array(stateCount * 40);
    this.#rewardOf = new Float64Array(stateCount);
    this.#durationOf = new Float64Array(stateCount);
  }

  /** Returns a function that restores this solution. */
  solution(): () => void {
    const value = this.#value.slice();
    const shortlist = this.#shortlist.slice();
    const { gain } = this;
    const { violationPrice, credit, latencyCost } = this.#next;
    return () => {
      [this.#value, this.#shortlist, this.gain] = [value, shortlist, gain];
      Object.assign(this.#next, { violationPrice, credit, latencyCost });
    };
  }

  get stateCount(): number {
    return this.#grid.stateCount;
  }

  /**
   * @param violationPrice μ, in accuracy.
   * @param credit for the time that one worker waits while the others work: waiting costs the one
   * fast server all of its time, K workers a K-th; reward per ms.
   * @param latencyPrice of the mean latency, in accuracy per SLO.
   */
  solve({ violationPrice, credit, latencyPrice }: Prices): void {
    this.#next.violationPrice = violationPrice;
    this.#next.credit = credit;
    this.#next.latencyCost = latencyPrice / this.#problem.sloMs;
    // A saved solution keeps its values.
    this.#value = this.#value.slice();
    this.#shortlist = this.#shortlist.slice();
    const tolerance = this.#gainTolerance * this.#ratePerMs;
    for (let round = 0; round < MAX_IMPROVEMENTS; round++) {
      const isFull = round === 0 || this.iterations < FULL_ROUNDS;
      const changed = this.#improve(isFull);
      const before = this.gain;
      this.#evaluate(tolerance);
      this.iterations++;
      const isSettled = Math.abs(this.gain - before) <= 5 * tolerance;
      if (round > 0 && isSettled && changed <= 0.01 * this.stateCount) break;
    }
    this.#extendBand(this.#value);
  }

  /**
   * Returns the decision in a state of any slack. It considers the actions that are listed for the
   * states on both sides of its age or, outside the band, all of them.
   */
  look(queued: number, slackMs: number): Look {
    const ageMs = Math.max(0, this.#problem.sloMs - slackMs);
    this.#lookNumber++;
    this.#chosen = -1;
    this.#best = this.#worthOfGivingUp(queued, ageMs);
    this.#grid.locate(queued, ageMs);
    const row = this.#grid.rowByQueued[queued]!;
    const near = this.#grid.stateAt[this.#grid.column * this.#grid.stride + row]!;
    const far = this.#grid.stateAt[(this.#grid.column + 1) * this.#grid.stride + row]!;
    if (near < 0 && far < 0) {
      for (let index = 0; index < this.#actions.length; index++) {
        if (this.#actions[index]!.batch > queued) break;
        this.#consider(index, queued, slackMs);
      }
    } else {
      this.#considerListed(near, queued, slackMs);
      this.#considerListed(far, queued, slackMs);
    }
    if (this.#chosen >= 0) {
      const own = this.#byVariant.get(this.#actions[this.#chosen]!.action.variant) ?? [];
      const largest = own.findLast((index) => this.#isPossible(index, queued, slackMs));
      if (largest !== undefined) this.#consider(largest, queued, slackMs);
    }
    const chosen = this.#chosen < 0 ? GIVE_UP : this.#actions[this.#chosen]!.action.index;
    const mayWait = slackMs > 0 && queued < this.#problem.capacity;
    const best = this.#best;
    // Ties go against waiting.
    const advantage = mayWait
      ? this.#worthOfWaiting(queued, ageMs) - best - TIE
      : Number.NEGATIVE_INFINITY;
    return { chosen, waitAdvantage: advantage };
  }

  #considerListed(state: number, queued: number, slackMs: number): void {
    if (state < 0) return;
    for (let place = 0; place < SHORTLIST; place++) {
      const index = this.#shortlist[state * SHORTLIST + place]!;
      if (index === NO_ENTRY) return;
      this.#consider(index, queued, slackMs);
    }
  }

  /**
   * Takes an action that is better than the current choice, or as good with no more time per query.
   */
  #consider(index: number, queued: number, slackMs: number): void {
    if (this.#seenAt[index] === this.#lookNumber) return;
    this.#seenAt[index] = this.#lookNumber;
    if (!this.#isPossible(index, queued, slackMs)) return;
    const served = this.#actions[index]!;
    const worth = this.#worthOf(served, queued, Math.max(0, this.#problem.sloMs - slackMs));
    const chosen = this.#actions[this.#chosen];
    const isCheap = chosen === undefined || isCheaper(served, chosen);
    if (worth <= this.#best + (isCheap ? -TIE : TIE)) return;
    this.#best = Math.max(this.#best, worth);
    this.#chosen = index;
  }

  #isPossible(index: number, queued: number, slackMs: number): boolean {
    const { batch, serviceMs } = this.#actions[index]!;
    return batch <= queued && serviceMs <= slackMs;
  }

  /**
   * Every batch that can be formed now and ends in time, best first: the worth of one such batch.
   */
  worths(queued: number, slackMs: number): ActionWorth[] {
    const ageMs = Math.max(0, this.#problem.sloMs - slackMs);
    return this.#actions
      .filter(({ batch, serviceMs }) => batch <= queued && serviceMs <= slackMs)
      .map((served) => ({ action: served.action, worth: this.#worthOf(served, queued, ageMs, 1) }))
      .sort((a, b) => b.worth - a.worth);
  }

  /**
   * Values above the band are those of its edge; below it each missing query reduces the value by
   * the average worth of a query.
   */
  #extendBand(values: Float64Array): void {
    const stride = this.#grid.stride;
    const perQuery = this.#worthPerQuery();
    for (let column = 0; column < this.#grid.ageMs.length; column++) {
      const from = column * stride;
      const [low, high] = [this.#grid.lowRow[column]!, this.#grid.highRow[column]!];
      for (let row = 0; row < low; row++) {
        values[from + row] = values[from + low]! - this.#grid.missing(row, column) * perQuery;
      }
      values.fill(values[from + high]!, from + high + 1, from + stride);
    }
  }

  /**
   * One greedy step in every state, and the transition rows of its choices.
   * @returns states whose choice changed.
   */
  #improve(isFull: boolean): number {
    const isFirst = this.iterations === 0;
    this.#extendBand(this.#value);
    this.#perQuery = this.#worthPerQuery();
    let changed = 0;
    let used = 0;
    for (let state = 0; state < this.#grid.stateCount; state++) {
      const queued = this.#grid.rows[this.#grid.stateRow[state]!]!;
      const ageMs = this.#grid.ageMs[this.#grid.stateColumn[state]!]!;
      const choice = isFirst
        ? this.#fastest(queued, ageMs)
        : isFull
          ? this.#greedy(state, queued, ageMs)
          : this.#greedyOfFew(state, queued, ageMs);
      if (choice !== this.#choice[state]) changed++;
      this.#choice[state] = choice;
      if (choice === WAITS) this.#next.wait(queued, ageMs);
      else if (choice === GIVES_UP) this.#next.giveUp(queued, ageMs);
      else this.#next.serve(this.#actions[choice]!, queued, ageMs);
      this.#start[state] = used;
      used = this.#appendRow(used);
      this.#rewardOf[state] = this.#next.reward;
      this.#durationOf[state] = this.#next.durationMs;
    }
    this.#start[this.#grid.stateCount] = used;
    return changed;
  }

  /** Initial choice: the batch of the highest rate. */
  #fastest(queued: number, ageMs: number): number {
    const slackMs = this.#problem.sloMs - ageMs;
    let best = GIVES_UP;
    let bestRate = 0;
    for (let index = 0; index < this.#actions.length; index++) {
      const { batch, serviceMs } = this.#actions[index]!;
      if (batch > queued) break;
      if (serviceMs > slackMs || batch <= bestRate * serviceMs) continue;
      best = index;
      bestRate = batch / serviceMs;
    }
    return best;
  }

  /** Best of all actions; also lists the best ones. */
  #greedy(state: number, queued: number, ageMs: number): number {
    const slackMs = this.#problem.sloMs - ageMs;
    const listed = state * SHORTLIST;
    this.#shortlist.fill(NO_ENTRY, listed, listed + SHORTLIST);
    this.#shortWorth.fill(Number.NEGATIVE_INFINITY);
    for (let index = 0; index < this.#actions.length; index++) {
      const served = this.#actions[index]!;
      if (served.batch > queued) break;
      if (served.serviceMs > slackMs) continue;
      this.#list(listed, index, this.#worthOf(served, queued, ageMs));
    }
    return this.#orNone(this.#shortlist[listed]!, this.#shortWorth[0]!, queued, ageMs);
  }

  /** Best of the actions that were the best at the last full evaluation. */
  #greedyOfFew(state: number, queued: number, ageMs: number): number {
    let best = NO_ENTRY;
    let bestWorth = Number.NEGATIVE_INFINITY;
    for (let place = 0; place < SHORTLIST; place++) {
      const index = this.#shortlist[state * SHORTLIST + place]!;
      if (index === NO_ENTRY) break;
      const worth = this.#worthOf(this.#actions[index]!, queued, ageMs);
      if (worth <= bestWorth + 1e-12) continue;
      best = index;
      bestWorth = worth;
    }
    return this.#orNone(best, bestWorth, queued, ageMs);
  }

  /** The action, unless dropping the first query or waiting is worth more. */
  #orNone(action: number, worth: number, queued: number, ageMs: number): number {
    let best = action;
    let bestWorth = worth;
    const givenUp = this.#worthOfGivingUp(queued, ageMs);
    if (givenUp >= bestWorth) [best, bestWorth] = [GIVES_UP, givenUp];
    const mayWait = ageMs < this.#problem.sloMs && queued < this.#problem.capacity;
    return mayWait && this.#worthOfWaiting(queued, ageMs) > bestWorth ? WAITS : best;
  }

  /** Keeps a list sorted, the best first. */
  #list(listed: number, action: number, worth: number): void {
    const worths = this.#shortWorth;
    let place = SHORTLIST - 1;
    if (worth <= worths[place]! + 1e-12) return;
    while (place > 0 && worth > worths[place - 1]! + 1e-12) {
      worths[place] = worths[place - 1]!;
      this.#shortlist[listed + place] = this.#shortlist[listed + place - 1]!;
      place--;
    }
    worths[place] = worth;
    this.#shortlist[listed + place] = action;
  }

  /** @param mostBatches that are started in one step; default: what the grid allows. */
  #worthOf(served: ServedAction, queued: number, ageMs: number, mostBatches?: number): number {
    this.#next.serve(served, queued, ageMs, mostBatches);
    return this.#worth();
  }

  #worthOfGivingUp(queued: number, ageMs: number): number {
    this.#next.giveUp(queued, ageMs);
    return this.#worth();
  }

  #worthOfWaiting(queued: number, ageMs: number): number {
    this.#next.wait(queued, ageMs);
    return this.#worth();
  }

  /** Worth of the action whose successors were computed last. */
  #worth(): number {
    let worth = this.#next.reward - this.gain * this.#next.durationMs;
    for (let next = 0; next < this.#next.count; next++) {
      this.#grid.locate(this.#next.nextQueued[next]!, this.#next.nextAgeMs[next]!);
      const near = this.#valueAt(this.#grid.column, this.#grid.nearQueued);
      const far =
        this.#grid.far > 0 ? this.#valueAt(this.#grid.column + 1, this.#grid.farQueued) : 0;
      worth += this.#next.nextWeight[next]! * (near + this.#grid.far * (far - near));
    }
    return worth;
  }

  #valueAt(column: number, queued: number): number {
    const rows = this.#grid.rows;
    const value = this.#value;
    const waiting = Math.min(this.#problem.capacity, queued);
    const row = this.#grid.rowByQueued[waiting | 0]!;
    const at = column * this.#grid.stride + row;
    if (row + 1 >= rows.length) return value[at]!;
    const above = (waiting - rows[row]!) / (rows[row + 1]! - rows[row]!);
    return value[at]! + above * (value[at + 1]! - value[at]!);
  }

  /**
   * Appends the last computed successors as entries of a sparse matrix.
   * @returns entries used.
   */
  #appendRow(from: number): number {
    if (from + 4 * this.#next.count > this.#target.length) this.#growRows();
    let used = from;
    for (let next = 0; next < this.#next.count; next++) {
      this.#grid.locate(this.#next.nextQueued[next]!, this.#next.nextAgeMs[next]!);
      const weight = this.#next.nextWeight[next]!;
      const far = this.#grid.far;
      used = this.#appendEntries(
        used,
        this.#grid.column,
        this.#grid.nearQueued,
        weight * (1 - far),
      );
      used = this.#appendEntries(used, this.#grid.column + 1, this.#grid.farQueued, weight * far);
    }
    return used;
  }

  #appendEntries(from: number, column: number, queued: number, weight: number): number {
    if (weight <= 0) return from;
    const rows = this.#grid.rows;
    const waiting = Math.min(this.#problem.capacity, queued);
    const row = this.#grid.rowByQueued[waiting | 0]!;
    const above =
      row + 1 < rows.length ? (waiting - rows[row]!) / (rows[row + 1]! - rows[row]!) : 0;
    if (row < this.#grid.lowRow[column]!) {
      this.#next.reward -=
        weight * Math.max(0, rows[this.#grid.lowRow[column]!]! - waiting) * this.#perQuery;
    }
    this.#target[from] = this.#grid.entryOf(row, column);
    this.#weight[from] = weight * (1 - above);
    if (above <= 0) return from + 1;
    this.#target[from + 1] = this.#grid.entryOf(row + 1, column);
    this.#weight[from + 1] = weight * above;
    return from + 2;
  }

  /** Average worth of a query. */
  #worthPerQuery(): number {
    return this.gain / this.#ratePerMs;
  }

  #growRows(): void {
    const [target, weight] = [this.#target, this.#weight];
    this.#target = new Int32Array(2 * target.length);
    this.#target.set(target);
    this.#weight = new Float64Array(2 * weight.length);
    this.#weight.set(weight);
  }

  /**
   * Gauss–Seidel sweeps, forward and back, of the values of the policy and of the elapsed time; the
   * quotient of their growth is the gain.
   */
  #evaluate(tolerance: number): void {
    const [value, time] = [this.#value, this.#time];
    const states = this.#grid.stateCount;
    const reference = this.#grid.entryOf(0, 0);
    time.fill(0);
    for (let cycle = 0; cycle < MAX_CYCLES; cycle++) {
      const [valueBefore, timeBefore] = [value[reference]!, time[reference]!];
      for (let state = 0; state < states; state++) this.#sweep(state);
      for (let state = states - 1; state >= 0; state--) this.#sweep(state);
      const [valueGrowth, timeGrowth] = [
        value[reference]! - valueBefore,
        time[reference]! - timeBefore,
      ];
      const correction = valueGrowth / timeGrowth;
      if (!Number.isFinite(correction)) break;
      this.gain += correction;
      for (let state = 0; state < states; state++) {
        const entry = this.#grid.entryOfState(state);
        value[entry] = value[entry]! - correction * time[entry]!;
      }
      const zero = value[reference]!;
      for (let state = 0; state < states; state++) {
        const entry = this.#grid.entryOfState(state);
        value[entry] = value[entry]! - zero;
      }
      time.fill(0);
      if (Math.abs(correction) <= tolerance) break;
    }
  }

  #sweep(state: number): void {
    const [target, weight, values, times] = [this.#target, this.#weight, this.#value, this.#time];
    const durationMs = this.#durationOf[state]!;
    let value = this.#rewardOf[state]! - this.gain * durationMs;
    let time = durationMs;
    const end = this.#start[state + 1]!;
    for (let entry = this.#start[state]!; entry < end; entry++) {
      const share = weight[entry]!;
      const at = target[entry]!;
      value += share * values[at]!;
      time += share * times[at]!;
    }
    const own = this.#grid.entryOfState(state);
    values[own] = value;
    times[own] = time;
  }
}
