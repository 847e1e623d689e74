/**
 * The decision problem of one queue and K workers, as that of one server that is K times as fast: a
 * semi-Markov decision process over what the runtime sees, the queries that wait and the age of the
 * first.
 *
 * Maximise the reward per time. States (n, A) are those in which a worker is free and n queries
 * wait, the first for A ms. Actions:
 * - start a batch of b on variant m, if l(m, b) ≤ SLO − A: reward b · accuracy, and the next
 *   decision l(m, b) / K later;
 * - give the first query up: reward −μ, μ being the price of a violation, at once;
 * - wait for the next query, or until the age falls into another column.
 * Queries are first in, first out, and arrivals are Poisson (or over-dispersed by a factor), so of
 * n queries the n − 1 behind the first came at uniform times within its age. Of n queries a batch
 * of b leaves n − b, the first of which has the age A · Beta(n − b, b); while the next worker is
 * awaited A grows and a Poisson number joins. Where nobody waits, the next state is one query of
 * age 0, 1/λ later.
 *
 * With one worker this is the process itself, up to the grid. With many it has their capacity and
 * the latency of each batch, but workers get free at even intervals; what that leaves out is what
 * the few numbers tuned by simulation are for (`policy-search.ts`). As K grows with λ / K fixed,
 * the noise of the arrivals vanishes and the process becomes the fluid one that the bounds are of
 * (`fluid-bound.ts`).
 *
 * Solved by modified policy iteration: greedy improvement, then Gauss–Seidel sweeps of the policy's
 * own equations until the gain stands still. Sources: Howard, "Dynamic Programming and Markov
 * Processes", 1960; Puterman, "Markov Decision Processes", 1994, §8.7 and §11.4. The process of a
 * single worker: RAMSIS §4.
 */
import { GIVE_UP } from "stratagem-runtime/internal/bundle/schema";
import { rowByQueued } from "stratagem-runtime/internal/core/table-lookup";
import type { PooledAction, PooledProblem } from "./pooled-problem.ts";
import { isCheaper, type ServedAction, servedActions } from "./served-actions.ts";

/**
 * Widest step of the solver's own grid of ages, of the SLO; values between are interpolated, so it
 * may be coarser than the table's.
 */
const WIDEST_STEP = 1 / 50;
/**
 * Narrowest step, in mean gaps between arrivals (or between steps of the solution), and how steps
 * grow.
 */
const NARROWEST_STEP = 1.5;
const STEP_GROWTH = 1.25;
/** Even parts of the SLO by which the column of an age is found. */
const AGE_PARTS = 1024;
/** Standard deviations around the expected queue of an age within which states are solved. */
const BAND_BELOW = 4;
const BAND_ABOVE = 7;
/** Decisions within an SLO, above which several batches are taken as one step. */
const STEPS_PER_SLO = 96;
const MAX_IMPROVEMENTS = 10;
const MAX_CYCLES = 8;
/** Of the accuracy per query, at which sweeps end. */
const GAIN_TOLERANCE = 2e-6;
/**
 * Improvements of the first solution that look at all actions of a state, and the best of these
 * that later ones look at.
 */
const FULL_ROUNDS = 3;
const SHORTLIST = 8;
const NOBODY = -3;
/**
 * Accuracy by which actions are as good as each other: then nobody waits, and the larger batch of
 * no more time per query is taken.
 */
const TIE = 1e-3;
const WAITS = -1;
const GIVES_UP = -2;
/** Most successors that one action has. */
const MAX_SUCCESSORS = 96;

/** What a state's choice is worth. */
export interface ActionWorth {
  readonly action: PooledAction;
  readonly worth: number;
}

/** A state's choice without waiting, an action or GIVE_UP, and what waiting is worth beyond it. */
export interface Look {
  readonly chosen: number;
  readonly waitAdvantage: number;
}

export interface Solution {
  readonly value: Float64Array;
  readonly gain: number;
  readonly violationPrice: number;
  readonly credit: number;
  readonly shortlist: Int32Array;
}

export class FastServer {
  /** Reward per ms of the policy found last. */
  gain = 0;
  /** Improvements done, over all solutions. */
  iterations = 0;
  readonly #problem: PooledProblem;
  readonly #ratePerMs: number;
  readonly #dispersion: number;
  readonly #rows: Float64Array;
  readonly #rowByQueued: Uint16Array;
  /** Rows and one of padding. */
  readonly #stride: number;
  /** Ages of the columns, ascending from 0 to the SLO. */
  readonly #ageMs: Float64Array;
  /** The column at the start of each part of the SLO. */
  readonly #columnByPart: Uint16Array;
  readonly #partsPerMs: number;
  #value: Float64Array;
  readonly #actions: readonly ServedAction[];
  /** Batches that are started in one step at most. */
  readonly #batchesPerStep: number;
  readonly #lowRow: Int32Array;
  readonly #highRow: Int32Array;
  readonly #stateRow: Int32Array;
  readonly #stateColumn: Int32Array;
  /** By column and row, −1 outside the band. */
  readonly #stateAt: Int32Array;
  readonly #choice: Int32Array;
  /**
   * Shape (stateCount, SHORTLIST): actions by their worth when all were looked at last, NOBODY
   * where there are fewer.
   */
  #shortlist: Int32Array;
  readonly #shortWorth = new Float64Array(SHORTLIST);
  #violationPrice = 0;
  /** What a query brings, as the transition rows count it below the band. */
  #perQuery = 0;
  #credit = 0;
  // Successors of the action that was looked at last.
  #count = 0;
  #reward = 0;
  #durationMs = 0;
  readonly #nextQueued = new Float64Array(MAX_SUCCESSORS);
  readonly #nextAgeMs = new Float64Array(MAX_SUCCESSORS);
  readonly #nextWeight = new Float64Array(MAX_SUCCESSORS);
  // Of the state that is looked at.
  #lookNumber = 0;
  #chosen = -1;
  #best = 0;
  /** The look that considered each action last. */
  readonly #seenAt: Uint32Array;
  /** Indices of the actions of each variant, by batch. */
  readonly #byVariant = new Map<number, number[]>();
  // Where the state that was located last lies between columns.
  #column = 0;
  #far = 0;
  #nearQueued = 0;
  #farQueued = 0;
  // Transition rows of a policy.
  readonly #start: Int32Array;
  #target: Int32Array;
  #weight: Float64Array;
  readonly #rewardOf: Float64Array;
  readonly #durationOf: Float64Array;
  readonly #time: Float64Array;

  constructor(problem: PooledProblem) {
    const { sloMs, workerCount, rows, choices, arrivalsPerMs, dispersion } = problem;
    this.#problem = problem;
    this.#ratePerMs = arrivalsPerMs;
    this.#dispersion = dispersion;
    this.#rows = Float64Array.from(rows);
    this.#rowByQueued = rowByQueued(rows);
    this.#stride = rows.length + 1;
    this.#actions = servedActions(problem);
    this.#seenAt = new Uint32Array(this.#actions.length);
    this.#actions.forEach(({ action: { variant } }, index) => {
      this.#byVariant.set(variant, [...(this.#byVariant.get(variant) ?? []), index]);
    });
    const fastestMs = Math.min(sloMs, ...choices.map(({ meanMs }) => meanMs));
    this.#batchesPerStep = Math.max(
      1,
      Math.round((workerCount * sloMs) / (fastestMs * STEPS_PER_SLO)),
    );
    this.#ageMs = ageGrid(sloMs, (NARROWEST_STEP * this.#batchesPerStep) / arrivalsPerMs);
    this.#partsPerMs = AGE_PARTS / sloMs;
    this.#columnByPart = new Uint16Array(AGE_PARTS + 1);
    for (let part = 0, column = 0; part <= AGE_PARTS; part++) {
      while (column + 2 < this.#ageMs.length && this.#ageMs[column + 1]! <= part / this.#partsPerMs)
        column++;
      this.#columnByPart[part] = column;
    }
    this.#value = new Float64Array(this.#stride * this.#ageMs.length + 1);
    this.#lowRow = new Int32Array(this.#ageMs.length);
    this.#highRow = new Int32Array(this.#ageMs.length);
    const states = this.#band();
    this.#stateRow = Int32Array.from(states, ([row = 0]) => row);
    this.#stateColumn = Int32Array.from(states, ([, column = 0]) => column);
    this.#stateAt = new Int32Array(this.#value.length).fill(-1);
    states.forEach((_, state) => {
      this.#stateAt[this.#entryOfState(state)] = state;
    });
    this.#choice = new Int32Array(states.length).fill(Number.MIN_SAFE_INTEGER);
    this.#shortlist = new Int32Array(states.length * SHORTLIST).fill(NOBODY);
    this.#start = new Int32Array(states.length + 1);
    this.#target = new Int32Array(states.length * 40);
    this.#weight = new Float64Array(states.length * 40);
    this.#rewardOf = new Float64Array(states.length);
    this.#durationOf = new Float64Array(states.length);
    this.#time = new Float64Array(this.#value.length);
  }

  /** What `solve` found, to go back to. */
  solution(): Solution {
    return {
      value: this.#value.slice(),
      gain: this.gain,
      violationPrice: this.#violationPrice,
      credit: this.#credit,
      shortlist: this.#shortlist.slice(),
    };
  }

  restore(solution: Solution): void {
    this.#value = solution.value;
    this.gain = solution.gain;
    this.#violationPrice = solution.violationPrice;
    this.#credit = solution.credit;
    this.#shortlist = solution.shortlist;
  }

  get stateCount(): number {
    return this.#stateRow.length;
  }

  /**
   * @param violationPrice μ, in accuracy.
   * @param credit for the time that one worker waits while the others work: of the one fast server
   * it takes all, of K workers a K-th; reward per ms.
   */
  solve(violationPrice: number, credit: number): void {
    this.#violationPrice = violationPrice;
    this.#credit = credit;
    // A solution that was told keeps its values.
    this.#value = this.#value.slice();
    this.#shortlist = this.#shortlist.slice();
    const tolerance = GAIN_TOLERANCE * this.#ratePerMs;
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
   * What to do in a state of any slack: of the actions that are listed for the states on both sides
   * of its age, or of all outside the band.
   */
  look(queued: number, slackMs: number): Look {
    const ageMs = Math.max(0, this.#problem.sloMs - slackMs);
    this.#lookNumber++;
    this.#chosen = -1;
    this.#best = this.#worthOfGivingUp(queued, ageMs);
    this.#locate(queued, ageMs);
    const row = this.#rowByQueued[queued]!;
    const near = this.#stateAt[this.#column * this.#stride + row]!;
    const far = this.#stateAt[(this.#column + 1) * this.#stride + row]!;
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
    // Where it makes no difference nobody waits.
    const advantage = mayWait
      ? this.#worthOfWaiting(queued, ageMs) - best - TIE
      : Number.NEGATIVE_INFINITY;
    return { chosen, waitAdvantage: advantage };
  }

  #considerListed(state: number, queued: number, slackMs: number): void {
    if (state < 0) return;
    for (let place = 0; place < SHORTLIST; place++) {
      const index = this.#shortlist[state * SHORTLIST + place]!;
      if (index === NOBODY) return;
      this.#consider(index, queued, slackMs);
    }
  }

  /**
   * Takes an action that is better than what was chosen so far, or as good and of no more time per
   * query.
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

  /** Every batch that can be formed now and ends in time, best first: what one such batch is worth. */
  worths(queued: number, slackMs: number): ActionWorth[] {
    const ageMs = Math.max(0, this.#problem.sloMs - slackMs);
    return this.#actions
      .filter(({ batch, serviceMs }) => batch <= queued && serviceMs <= slackMs)
      .map((served) => ({ action: served.action, worth: this.#worthOf(served, queued, ageMs, 1) }))
      .sort((a, b) => b.worth - a.worth);
  }

  /** The states that are likely enough to matter: n − 1 is about Poisson with mean λA. */
  #band(): number[][] {
    const capacity = this.#problem.capacity;
    const states: number[][] = [];
    const maxBatch = this.#actions.at(-1)?.batch ?? 1;
    for (let column = this.#ageMs.length - 1; column >= 0; column--) {
      const mean = 1 + this.#ratePerMs * this.#ageMs[column]!;
      const deviation = Math.sqrt(this.#dispersion * mean);
      const low = Math.max(1, Math.floor(mean - BAND_BELOW * deviation - 2));
      const high = Math.min(capacity, Math.ceil(mean + BAND_ABOVE * deviation + maxBatch));
      this.#lowRow[column] = this.#rowByQueued[low]!;
      this.#highRow[column] = this.#rowByQueued[high]!;
      for (let row = this.#rowByQueued[high]!; row >= this.#lowRow[column]!; row--) {
        states.push([row, column]);
      }
    }
    return states;
  }

  /**
   * Above the band values are those of its edge; below it each query less is what a query brings on
   * average.
   */
  #extendBand(values: Float64Array): void {
    const stride = this.#stride;
    const perQuery = this.#worthPerQuery();
    for (let column = 0; column < this.#ageMs.length; column++) {
      const from = column * stride;
      const [low, high] = [this.#lowRow[column]!, this.#highRow[column]!];
      for (let row = 0; row < low; row++) {
        values[from + row] = values[from + low]! - this.#missing(row, column) * perQuery;
      }
      values.fill(values[from + high]!, from + high + 1, from + stride);
    }
  }

  /**
   * One greedy step in every state, and the transition rows of what was chosen.
   * @returns states that changed their minds.
   */
  #improve(isFull: boolean): number {
    const isFirst = this.iterations === 0;
    this.#extendBand(this.#value);
    this.#perQuery = this.#worthPerQuery();
    let changed = 0;
    let used = 0;
    for (let state = 0; state < this.#stateRow.length; state++) {
      const queued = this.#rows[this.#stateRow[state]!]!;
      const ageMs = this.#ageMs[this.#stateColumn[state]!]!;
      const choice = isFirst
        ? this.#fastest(queued, ageMs)
        : isFull
          ? this.#greedy(state, queued, ageMs)
          : this.#greedyOfFew(state, queued, ageMs);
      if (choice !== this.#choice[state]) changed++;
      this.#choice[state] = choice;
      if (choice === WAITS) this.#wait(queued, ageMs);
      else if (choice === GIVES_UP) this.#giveUp(queued, ageMs);
      else this.#serve(this.#actions[choice]!, queued, ageMs);
      this.#start[state] = used;
      used = this.#appendRow(used);
      this.#rewardOf[state] = this.#reward;
      this.#durationOf[state] = this.#durationMs;
    }
    this.#start[this.#stateRow.length] = used;
    return changed;
  }

  /** Where nothing is known yet: the batch of the highest rate. */
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

  /** Of all actions; the best of them are listed. */
  #greedy(state: number, queued: number, ageMs: number): number {
    const slackMs = this.#problem.sloMs - ageMs;
    const listed = state * SHORTLIST;
    this.#shortlist.fill(NOBODY, listed, listed + SHORTLIST);
    this.#shortWorth.fill(Number.NEGATIVE_INFINITY);
    for (let index = 0; index < this.#actions.length; index++) {
      const served = this.#actions[index]!;
      if (served.batch > queued) break;
      if (served.serviceMs > slackMs) continue;
      this.#list(listed, index, this.#worthOf(served, queued, ageMs));
    }
    return this.#orNone(this.#shortlist[listed]!, this.#shortWorth[0]!, queued, ageMs);
  }

  /** Of the actions that were the best when all were looked at. */
  #greedyOfFew(state: number, queued: number, ageMs: number): number {
    let best = NOBODY;
    let bestWorth = Number.NEGATIVE_INFINITY;
    for (let place = 0; place < SHORTLIST; place++) {
      const index = this.#shortlist[state * SHORTLIST + place]!;
      if (index === NOBODY) break;
      const worth = this.#worthOf(this.#actions[index]!, queued, ageMs);
      if (worth <= bestWorth + 1e-12) continue;
      best = index;
      bestWorth = worth;
    }
    return this.#orNone(best, bestWorth, queued, ageMs);
  }

  /** The action, unless giving the first query up or waiting is worth more. */
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

  /** @param mostBatches that are started in one step. */
  #worthOf(
    served: ServedAction,
    queued: number,
    ageMs: number,
    mostBatches = this.#batchesPerStep,
  ): number {
    this.#serve(served, queued, ageMs, mostBatches);
    return this.#worth();
  }

  #worthOfGivingUp(queued: number, ageMs: number): number {
    this.#giveUp(queued, ageMs);
    return this.#worth();
  }

  #worthOfWaiting(queued: number, ageMs: number): number {
    this.#wait(queued, ageMs);
    return this.#worth();
  }

  /** Of the action whose successors were computed last. */
  #worth(): number {
    let worth = this.#reward - this.gain * this.#durationMs;
    for (let next = 0; next < this.#count; next++) {
      this.#locate(this.#nextQueued[next]!, this.#nextAgeMs[next]!);
      const near = this.#valueAt(this.#column, this.#nearQueued);
      const far = this.#far > 0 ? this.#valueAt(this.#column + 1, this.#farQueued) : 0;
      worth += this.#nextWeight[next]! * (near + this.#far * (far - near));
    }
    return worth;
  }

  /**
   * Between two columns values are taken along the line on which the queue grows as arrivals come:
   * (n, A) lies between (n − λa, A − a) and (n + λb, A + b).
   */
  #locate(queued: number, ageMs: number): void {
    const ages = this.#ageMs;
    let column = this.#columnByPart[(ageMs * this.#partsPerMs) | 0]!;
    while (column + 2 < ages.length && ages[column + 1]! <= ageMs) column++;
    while (column > 0 && ages[column]! > ageMs) column--;
    const beyondMs = ageMs - ages[column]!;
    const far = beyondMs / (ages[column + 1]! - ages[column]!);
    const near = Math.max(1, queued - this.#ratePerMs * beyondMs);
    this.#column = column;
    this.#far = far;
    this.#nearQueued = near;
    this.#farQueued = far > 0 ? (queued - (1 - far) * near) / far : queued;
  }

  #valueAt(column: number, queued: number): number {
    const rows = this.#rows;
    const value = this.#value;
    const waiting = Math.min(this.#problem.capacity, queued);
    const row = this.#rowByQueued[waiting | 0]!;
    const at = column * this.#stride + row;
    if (row + 1 >= rows.length) return value[at]!;
    const above = (waiting - rows[row]!) / (rows[row + 1]! - rows[row]!);
    return value[at]! + above * (value[at + 1]! - value[at]!);
  }

  /** The successors computed last as entries of a sparse matrix. @returns entries used. */
  #appendRow(from: number): number {
    if (from + 4 * this.#count > this.#target.length) this.#growRows();
    let used = from;
    for (let next = 0; next < this.#count; next++) {
      this.#locate(this.#nextQueued[next]!, this.#nextAgeMs[next]!);
      const weight = this.#nextWeight[next]!;
      const far = this.#far;
      used = this.#appendEntries(used, this.#column, this.#nearQueued, weight * (1 - far));
      used = this.#appendEntries(used, this.#column + 1, this.#farQueued, weight * far);
    }
    return used;
  }

  #appendEntries(from: number, column: number, queued: number, weight: number): number {
    if (weight <= 0) return from;
    const rows = this.#rows;
    const waiting = Math.min(this.#problem.capacity, queued);
    const row = this.#rowByQueued[waiting | 0]!;
    const above =
      row + 1 < rows.length ? (waiting - rows[row]!) / (rows[row + 1]! - rows[row]!) : 0;
    if (row < this.#lowRow[column]!) {
      this.#reward -= weight * Math.max(0, rows[this.#lowRow[column]!]! - waiting) * this.#perQuery;
    }
    this.#target[from] = this.#entryOf(row, column);
    this.#weight[from] = weight * (1 - above);
    if (above <= 0) return from + 1;
    this.#target[from + 1] = this.#entryOf(row + 1, column);
    this.#weight[from + 1] = weight * above;
    return from + 2;
  }

  /** What a query brings on average. */
  #worthPerQuery(): number {
    return this.gain / this.#ratePerMs;
  }

  /** Queries by which a row is below the band. */
  #missing(row: number, column: number): number {
    return Math.max(0, this.#rows[this.#lowRow[column]!]! - this.#rows[row]!);
  }

  /** Where the value of a state is kept; beyond the band that of its edge. */
  #entryOf(row: number, column: number): number {
    const inBand = Math.min(this.#highRow[column]!, Math.max(this.#lowRow[column]!, row));
    return column * this.#stride + inBand;
  }

  #growRows(): void {
    const [target, weight] = [this.#target, this.#weight];
    this.#target = new Int32Array(2 * target.length);
    this.#target.set(target);
    this.#weight = new Float64Array(2 * weight.length);
    this.#weight.set(weight);
  }

  /**
   * Gauss–Seidel sweeps, forward and back, of the values of the policy and of the time that passes;
   * their quotient of growth is the gain.
   */
  #evaluate(tolerance: number): void {
    const [value, time] = [this.#value, this.#time];
    const states = this.#stateRow.length;
    const reference = this.#entryOf(0, 0);
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
        const entry = this.#entryOfState(state);
        value[entry] = value[entry]! - correction * time[entry]!;
      }
      const zero = value[reference]!;
      for (let state = 0; state < states; state++) {
        const entry = this.#entryOfState(state);
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
    const own = this.#entryOfState(state);
    values[own] = value;
    times[own] = time;
  }

  #entryOfState(state: number): number {
    return this.#stateColumn[state]! * this.#stride + this.#stateRow[state]!;
  }

  #begin(reward: number, durationMs: number): void {
    this.#count = 0;
    this.#reward = reward;
    this.#durationMs = durationMs;
  }

  #next(queued: number, ageMs: number, weight: number): void {
    const { sloMs } = this.#problem;
    const { capacity } = this.#problem;
    let [left, age] = [queued, ageMs];
    if (left > capacity) {
      this.#reward -= weight * (left - capacity) * this.#violationPrice;
      left = capacity;
    }
    if (age > sloMs) {
      // Those whose deadline passes meanwhile are lost.
      const lost = Math.min(left, 1 + ((left - 1) * (age - sloMs)) / age);
      this.#reward -= weight * lost * this.#violationPrice;
      left = Math.max(1, left - lost);
      age = sloMs;
    }
    this.#nextQueued[this.#count] = left;
    this.#nextAgeMs[this.#count] = age;
    this.#nextWeight[this.#count++] = weight;
  }

  #nextEmpty(weight: number): void {
    this.#durationMs += weight / this.#ratePerMs;
    this.#next(1, 0, weight);
  }

  /** Several batches at once where one changes next to nothing. */
  #serve(
    { batch, reward, stepMs, gap }: ServedAction,
    queued: number,
    ageMs: number,
    mostBatches = this.#batchesPerStep,
  ): void {
    const few = Math.floor(queued / (4 * batch));
    const batches = Math.max(1, Math.min(mostBatches, few));
    const durationMs = batches * stepMs;
    this.#begin(batches * reward, durationMs);
    const left = queued - batches * batch;
    if (left <= 0) {
      for (const { count, weight } of gap) this.#afterEmpty(count, durationMs, weight);
      return;
    }
    const middleMs = (ageMs * left) / queued;
    const deviationMs = (ageMs * Math.sqrt((left * (queued - left)) / (queued + 1))) / queued;
    const youngMs = Math.max(0, middleMs - deviationMs);
    const oldMs = Math.min(ageMs, 2 * middleMs - youngMs);
    if (batches > 1) {
      // Two independent deviations: exact for polynomials of degree three.
      const mean = this.#ratePerMs * durationMs;
      const deviation = Math.sqrt(mean * this.#dispersion * 2);
      const apartMs = (oldMs - youngMs) * Math.SQRT1_2;
      this.#next(Math.max(1, left + mean - deviation), middleMs + durationMs, 0.25);
      this.#next(left + mean + deviation, middleMs + durationMs, 0.25);
      this.#next(left + mean, Math.max(0, middleMs - apartMs) + durationMs, 0.25);
      this.#next(left + mean, Math.min(ageMs, middleMs + apartMs) + durationMs, 0.25);
      return;
    }
    for (const { count, weight } of gap) {
      if (deviationMs <= 0) this.#next(left + count, middleMs + durationMs, weight);
      else {
        this.#next(left + count, youngMs + durationMs, weight / 2);
        this.#next(left + count, oldMs + durationMs, weight / 2);
      }
    }
  }

  /** Nobody was left: of those who came meanwhile the first has waited the longest. */
  #afterEmpty(count: number, durationMs: number, weight: number): void {
    if (count >= 1) this.#next(count, (durationMs * count) / (count + 1), weight);
    else this.#nextEmpty(weight);
  }

  #giveUp(queued: number, ageMs: number): void {
    this.#begin(-this.#violationPrice, 0);
    const left = queued - 1;
    if (left <= 0) {
      this.#nextEmpty(1);
      return;
    }
    const middleMs = (ageMs * left) / queued;
    const deviationMs = (ageMs * Math.sqrt(left / (queued + 1))) / queued;
    this.#next(left, Math.max(0, middleMs - deviationMs), 0.5);
    this.#next(left, Math.min(ageMs, middleMs + deviationMs), 0.5);
  }

  #wait(queued: number, ageMs: number): void {
    const ages = this.#ageMs;
    this.#locate(queued, ageMs);
    const columnMs = Math.max(1e-9 * this.#problem.sloMs, ages[this.#column + 1]! - ageMs);
    if (this.#batchesPerStep > 1) {
      const durationMs = Math.min(columnMs, this.#batchesPerStep / this.#ratePerMs);
      this.#begin(this.#credit * durationMs, durationMs);
      this.#next(queued + this.#ratePerMs * durationMs, ageMs + durationMs, 1);
      return;
    }
    const nobody = Math.exp(-this.#ratePerMs * columnMs);
    const meanMs = (1 - nobody) / this.#ratePerMs;
    this.#begin(this.#credit * meanMs, meanMs);
    this.#next(queued, ageMs + columnMs, nobody);
    const comesMs = 1 / this.#ratePerMs - (columnMs * nobody) / (1 - nobody);
    this.#next(queued + 1, ageMs + Math.max(0, comesMs), 1 - nobody);
  }
}

/**
 * From 0 to the SLO, in steps that grow from `narrowMs` on: how long the first has waited matters
 * most where few have come.
 */
function ageGrid(sloMs: number, narrowMs: number): Float64Array {
  const ages = [0];
  let stepMs = Math.min(narrowMs, sloMs * WIDEST_STEP);
  let ageMs = stepMs;
  while (ageMs + stepMs / 2 < sloMs) {
    ages.push(ageMs);
    stepMs = Math.min(stepMs * STEP_GROWTH, sloMs * WIDEST_STEP);
    ageMs += stepMs;
  }
  ages.push(sloMs);
  return Float64Array.from(ages);
}
