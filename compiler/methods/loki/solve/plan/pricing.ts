/** Finds the assignment of highest worth at given prices. */
import { LATENCY_ROUNDING, type SlotModel } from "./slots.ts";

const STEPS_PER_CANDIDATE = 5;

/** Remaining computation steps: a count, since clock times are not reproducible. */
export interface Steps {
  left: number;
}

export interface Pricing {
  /** Slot of each task in the assignment found last; -1 for tasks of other trees. */
  readonly choice: Int32Array;
  /**
   * Sets the objective of the next searches.
   *
   * @param queryPrice of one query per request by slot.
   * @param isBanned 1 for a slot that must not be used.
   */
  prepare(queryPrice: Float64Array, isBanned: Uint8Array, valueScale: number): void;
  /**
   * Highest worth above `floor` of an assignment of the tree of `entry`, which is then in `choice`;
   * -Infinity if none is above.
   */
  best(entry: number, floor: number): number;
}

/**
 * Finds the assignment of one entry task's tree (a slot for every task of it, each path within its
 * latency limit) of highest worth: its accuracy times a scale, less the price of the queries it
 * makes each slot serve.
 *
 * Branches are independent once the steps before them are chosen, so this is a search over
 * prefixes, cut by bounds on the accuracy and the price of the rest of a path.
 */
export class Pricer implements Pricing {
  /** Slot of each task in the assignment found last; -1 for tasks of other trees. */
  readonly choice: Int32Array;
  readonly #steps: Steps;
  readonly #model: SlotModel;
  readonly #tasks: readonly PricedTask[];
  #valueScale = 1;

  constructor(model: SlotModel, steps: Steps) {
    this.#model = model;
    this.#steps = steps;
    const { tasks } = model.problem;
    this.choice = new Int32Array(tasks.length).fill(-1);
    this.#tasks = tasks.map((_, task) => pricedTask(model, task));
  }

  prepare(queryPrice: Float64Array, isBanned: Uint8Array, valueScale: number): void {
    this.#valueScale = valueScale;
    const { slots } = this.#model;
    for (const task of [...this.#tasks].reverse()) {
      task.leastCost = Number.POSITIVE_INFINITY;
      for (const variant of task.variants) {
        variant.restCost = 0;
        for (const [at, child] of task.children.entries()) {
          const fanout = variant.fanouts[at] ?? 0;
          const least = this.#tasks[child]?.leastCost ?? 0;
          // 0 times infinity: a branch without any slot makes the variant useless, whatever it
          // sends there.
          variant.restCost += Number.isFinite(least) ? fanout * least : least;
        }
        variant.candidates = candidates(variant.slots, slots, queryPrice, isBanned);
        const cheapest = variant.candidates.at(-1);
        const cost = cheapest?.price ?? Number.POSITIVE_INFINITY;
        task.leastCost = Math.min(task.leastCost, cost + variant.restCost);
      }
    }
  }

  best(entry: number, floor: number): number {
    this.choice.fill(-1);
    const share = this.#model.problem.tasks[entry]?.entryShare ?? 0;
    return this.#best(entry, 0, 0, share, floor);
  }

  /**
   * @param prefix row of the variants before.
   * @param queries per request that arrive.
   */
  #best(taskIndex: number, prefix: number, elapsedMs: number, queries: number, floor: number) {
    const task = this.#tasks[taskIndex];
    let best = floor;
    let isFound = false;
    if (task === undefined) return Number.NEGATIVE_INFINITY;
    const left = task.limitMs - elapsedMs;
    for (const variant of task.variants) {
      if (variant.restCost === Number.POSITIVE_INFINITY) continue;
      const row = prefix * task.variants.length + variant.index;
      const most = this.#valueScale * (task.potential[row] ?? 0) - queries * variant.restCost;
      for (let at = variant.candidates.length - 1; at >= 0; at--) {
        this.#steps.left -= STEPS_PER_CANDIDATE;
        const candidate = variant.candidates[at];
        // Candidates ascend in latency and fall in price: no later one of this variant can be
        // better.
        if (candidate === undefined || most - queries * candidate.price <= best) break;
        if (candidate.latencyMs > left) continue;
        const worth = this.#worth(task, variant, candidate, row, elapsedMs, queries, best);
        if (worth > best) {
          best = worth;
          isFound = true;
          task.choice.fill(-1);
          for (const below of task.below) task.choice[below] = this.choice[below] ?? -1;
          task.choice[taskIndex] = candidate.slot;
        }
        if (task.children.length === 0) break;
      }
    }
    if (!isFound) return Number.NEGATIVE_INFINITY;
    for (const below of task.below) this.choice[below] = task.choice[below] ?? -1;
    this.choice[taskIndex] = task.choice[taskIndex] ?? -1;
    return best;
  }

  #worth(
    task: PricedTask,
    variant: PricedVariant,
    candidate: Candidate,
    row: number,
    elapsedMs: number,
    queries: number,
    floor: number,
  ): number {
    const own = -queries * candidate.price;
    const { children } = task;
    if (children.length === 0) return own + this.#valueScale * (task.potential[row] ?? 0);
    const after = elapsedMs + candidate.latencyMs;
    let rest = own;
    for (let at = 0; at < children.length; at++) {
      rest += this.#bound(children[at] ?? 0, row, queries * (variant.fanouts[at] ?? 0));
    }
    for (let at = 0; at < children.length; at++) {
      const child = children[at] ?? 0;
      const sent = queries * (variant.fanouts[at] ?? 0);
      const others = rest - this.#bound(child, row, sent);
      const found = this.#best(child, row, after, sent, floor - others);
      if (found === Number.NEGATIVE_INFINITY) return found;
      rest = others + found;
    }
    return rest;
  }

  /** Upper bound on the worth of a branch after the variants of `row`, ignoring latency. */
  #bound(child: number, row: number, queries: number): number {
    const task = this.#tasks[child];
    if (task === undefined) return 0;
    return this.#valueScale * (task.potentialBefore[row] ?? 0) - queries * task.leastCost;
  }
}

export interface Candidate {
  readonly slot: number;
  readonly latencyMs: number;
  readonly price: number;
}

interface PricedVariant {
  readonly index: number;
  readonly slots: readonly number[];
  readonly fanouts: readonly number[];
  /** Ascending in latency, descending in price. */
  candidates: readonly Candidate[];
  /** Least price of the queries that a query of this variant causes after it. */
  restCost: number;
}

interface PricedTask {
  readonly children: readonly number[];
  readonly below: readonly number[];
  readonly variants: readonly PricedVariant[];
  /** Latest time to end this step, ms from the start of the path. */
  readonly limitMs: number;
  /** Highest weighted accuracy of the leaves below, by the variants up to this task. */
  readonly potential: Float64Array;
  /** The same by the variants before this task. */
  readonly potentialBefore: Float64Array;
  readonly choice: Int32Array;
  leastCost: number;
}

function pricedTask(model: SlotModel, index: number): PricedTask {
  const { tasks, leaves } = model.problem;
  const task = tasks[index];
  const variants = task?.variants ?? [];
  const below = tasks.flatMap((_, other) => (isBelow(model, other, index) ? [other] : []));
  const reached = leaves.filter(({ path }) => path.includes(index));
  const fastest = (step: number) =>
    Math.min(
      ...(model.slotsOf[step] ?? []).flat().map((slot) => model.slots[slot]?.latencyMs ?? 0),
    );
  const limits = reached.map(({ path, latencyLimitMs }) => {
    const after = path.slice(path.indexOf(index) + 1);
    return latencyLimitMs * LATENCY_ROUNDING - after.reduce((sum, step) => sum + fastest(step), 0);
  });
  const potential = potentialOf(model, index);
  const potentialBefore = new Float64Array(potential.length / Math.max(1, variants.length));
  for (let row = 0; row < potentialBefore.length; row++) {
    const from = row * variants.length;
    potentialBefore[row] = Math.max(...potential.subarray(from, from + variants.length));
  }
  return {
    children: task?.children ?? [],
    below,
    variants: variants.map((variant, at) => ({
      index: at,
      slots: model.slotsOf[index]?.[at] ?? [],
      fanouts: variant.fanouts,
      candidates: [],
      restCost: 0,
    })),
    limitMs: Math.min(...limits),
    potential,
    potentialBefore,
    choice: new Int32Array(tasks.length),
    leastCost: 0,
  };
}

function isBelow({ problem }: SlotModel, task: number, ancestor: number): boolean {
  let at = problem.tasks[task]?.parent ?? null;
  while (at !== null && at !== ancestor) at = problem.tasks[at]?.parent ?? null;
  return at === ancestor;
}

/**
 * Sum over the leaves below a task (or itself) of the highest weighted accuracy after a prefix that
 * ends with the task.
 */
function potentialOf({ problem, slotsOf }: SlotModel, index: number): Float64Array {
  const sizes = (path: readonly number[]) =>
    path.reduce((product, step) => product * (problem.tasks[step]?.variants.length ?? 0), 1);
  let potential = new Float64Array(0);
  for (const { path, weight, accuracyByPath } of problem.leaves) {
    const depth = path.indexOf(index);
    if (depth < 0 || accuracyByPath === null) continue;
    const rows = sizes(path.slice(0, depth + 1));
    const highest = new Float64Array(rows).fill(Number.NEGATIVE_INFINITY);
    const width = accuracyByPath.length / rows;
    const after = path.slice(depth + 1);
    for (let place = 0; place < accuracyByPath.length; place++) {
      if (!isUsable(problem.tasks, slotsOf, after, place)) continue;
      const row = Math.floor(place / width);
      highest[row] = Math.max(highest[row] ?? 0, accuracyByPath[place] ?? 0);
    }
    if (potential.length === 0) potential = new Float64Array(rows);
    for (let row = 0; row < rows; row++) {
      potential[row] = (potential[row] ?? 0) + weight * (highest[row] ?? 0);
    }
  }
  return potential;
}

/**
 * Whether the variants of the last steps of a path, given by its index in a table, have any slot.
 */
function isUsable(
  tasks: SlotModel["problem"]["tasks"],
  slotsOf: SlotModel["slotsOf"],
  steps: readonly number[],
  place: number,
): boolean {
  let rest = place;
  for (const step of [...steps].reverse()) {
    const count = tasks[step]?.variants.length ?? 1;
    if ((slotsOf[step]?.[rest % count]?.length ?? 0) === 0) return false;
    rest = Math.floor(rest / count);
  }
  return true;
}

/** Removes slots that another of no more latency and price dominates; ascending in latency. */
export function candidates(
  ids: readonly number[],
  slots: SlotModel["slots"],
  queryPrice: Float64Array,
  isBanned: Uint8Array,
): Candidate[] {
  const kept: Candidate[] = [];
  for (const id of ids) {
    if (isBanned[id] === 1) continue;
    const price = queryPrice[id] ?? 0;
    const last = kept.at(-1);
    if (last !== undefined && last.price <= price) continue;
    kept.push({ slot: id, latencyMs: slots[id]?.latencyMs ?? 0, price });
  }
  return kept;
}
