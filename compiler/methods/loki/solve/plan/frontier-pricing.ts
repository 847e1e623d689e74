/** Finds the assignment of highest worth if the accuracy of a path is a product. */
import { Frontier, type Part } from "./frontier.ts";
import { type Candidate, candidates, type Pricing, type Steps } from "./pricing.ts";
import { LATENCY_ROUNDING, type SlotModel } from "./slots.ts";

/** Keeps ratios finite if a variant sends on nothing. */
const MAX_RATIO = 1e150;
const STEPS_PER_OFFER = 10;

/** A slot, and what can follow it. */
interface Way {
  readonly slot: Candidate;
  readonly rest: Frontier;
  /** Factors of the rest's values and costs. */
  readonly accuracy: number;
  readonly fanout: number;
}

/**
 * Does what `Pricer` does, by dynamic programming from the leaves up: its time does not grow with
 * the number of paths. The part before a task matters only through three numbers: the time used,
 * the accuracy so far and the queries that arrive. With ratio = accuracy so far / queries, a choice
 * for the rest is worth ratio · value - cost per query. So a task keeps the choices that are best
 * at some start and some possible ratio.
 */
export class FrontierPricer implements Pricing {
  readonly choice: Int32Array;
  readonly #steps: Steps;
  readonly #model: SlotModel;
  #candidates: Candidate[][][] = [];
  /** Lowest and highest ratio, and earliest start, by task. */
  readonly #low: Float64Array;
  readonly #high: Float64Array;
  readonly #earliestMs: Float64Array;
  #valueScale = 1;

  constructor(model: SlotModel, steps: Steps) {
    const { length } = model.problem.tasks;
    this.#model = model;
    this.#steps = steps;
    this.choice = new Int32Array(length).fill(-1);
    this.#low = new Float64Array(length);
    this.#high = new Float64Array(length);
    this.#earliestMs = new Float64Array(length);
  }

  prepare(queryPrice: Float64Array, isBanned: Uint8Array, valueScale: number): void {
    const { slotsOf, slots, problem } = this.#model;
    this.#valueScale = valueScale;
    this.#candidates = slotsOf.map((variants) =>
      variants.map((ids) => candidates(ids, slots, queryPrice, isBanned)),
    );
    this.#low.fill(MAX_RATIO);
    this.#high.fill(0);
    this.#earliestMs.fill(0);
    for (const [index, { parent, entryShare, children, variants }] of problem.tasks.entries()) {
      if (parent === null) this.#widen(index, valueScale, valueScale, entryShare);
      const own = this.#candidates[index] ?? [];
      const fastestMs = Math.min(...own.map(([one]) => one?.latencyMs ?? Number.POSITIVE_INFINITY));
      for (const [at, child] of children.entries()) {
        this.#earliestMs[child] = (this.#earliestMs[index] ?? 0) + fastestMs;
        for (const [variant, { accuracy, fanouts }] of variants.entries()) {
          if (own[variant]?.length === 0) continue;
          const low = (this.#low[index] ?? 0) * accuracy;
          const high = (this.#high[index] ?? 0) * accuracy;
          this.#widen(child, low, high, fanouts[at] ?? 0);
        }
      }
    }
  }

  #widen(task: number, low: number, high: number, queries: number): void {
    const ratioOf = (value: number) =>
      queries > 0 ? Math.min(MAX_RATIO, value / queries) : MAX_RATIO;
    this.#low[task] = Math.min(this.#low[task] ?? 0, ratioOf(low));
    this.#high[task] = Math.max(this.#high[task] ?? 0, ratioOf(high));
  }

  best(entry: number, floor: number): number {
    const share = this.#model.problem.tasks[entry]?.entryShare ?? 0;
    const { value, cost, parts } = this.#frontierOf(entry);
    const last = parts.length - 1;
    // An entry has one ratio, so the last one kept is the best.
    const worth = this.#valueScale * (value[last] ?? 0) - share * (cost[last] ?? 0);
    if (last < 0 || worth <= floor) return Number.NEGATIVE_INFINITY;
    this.choice.fill(-1);
    const open: (Part | null | undefined)[] = [parts[last]];
    while (open.length > 0) {
      const part = open.pop();
      if (part === null || part === undefined) continue;
      if (part.slot >= 0) this.choice[this.#model.slots[part.slot]?.task ?? 0] = part.slot;
      open.push(part.first, part.second);
    }
    return worth;
  }

  /** Choices for a task and all tasks below it. */
  #frontierOf(index: number): Frontier {
    const { tasks, leaves } = this.#model.problem;
    const { children = [], variants = [] } = tasks[index] ?? {};
    const below = children.map((child) => this.#frontierOf(child));
    const frontier = new Frontier(this.#low[index] ?? 0, this.#high[index] ?? 0);
    const leaf = leaves.find(({ task }) => task === index);
    if (leaf !== undefined) {
      const end = new Frontier(0, 0);
      end.offer(leaf.latencyLimitMs * LATENCY_ROUNDING, leaf.weight, 0, -1, null, null);
      below.push(end);
    }
    const ways = variants.flatMap(({ accuracy, fanouts }, variant): Way[] => {
      const own = this.#candidates[index]?.[variant] ?? [];
      const [rest] = below;
      if (own.length === 0 || rest === undefined) return [];
      if (below.length === 1) {
        const fanout = fanouts[0] ?? 0;
        return own.map((slot) => ({ slot, rest, accuracy, fanout }));
      }
      const both = frontier.joined(below, accuracy, fanouts);
      return own.map((slot) => ({ slot, rest: both, accuracy: 1, fanout: 1 }));
    });
    const count = merge(ways, this.#earliestMs[index] ?? 0, frontier);
    this.#steps.left -= count * (ways.length + STEPS_PER_OFFER);
    return frontier;
  }
}

/**
 * Merges the results of all ways, the latest start first.
 * @returns how many.
 */
function merge(ways: readonly Way[], earliestMs: number, frontier: Frontier): number {
  const at = new Uint32Array(ways.length);
  const nextMs = Float64Array.from(ways, ({ slot, rest }) => startOf(rest, 0) - slot.latencyMs);
  for (let count = 0; ; count++) {
    let next = 0;
    let latestMs = Number.NEGATIVE_INFINITY;
    for (let way = 0; way < nextMs.length; way++) {
      const startMs = nextMs[way] ?? 0;
      if (startMs > latestMs) {
        next = way;
        latestMs = startMs;
      }
    }
    const way = ways[next];
    if (way === undefined || !(latestMs >= earliestMs)) return count;
    const { slot, rest, accuracy, fanout } = way;
    const from = at[next] ?? 0;
    const value = accuracy * (rest.value[from] ?? 0);
    const cost = fanout * (rest.cost[from] ?? 0) + slot.price;
    frontier.offer(latestMs, value, cost, slot.slot, rest.parts[from] ?? null, null);
    at[next] = from + 1;
    nextMs[next] = startOf(rest, from + 1) - slot.latencyMs;
  }
}

function startOf({ startMs }: Frontier, at: number): number {
  return at < startMs.length ? (startMs[at] ?? 0) : Number.NEGATIVE_INFINITY;
}
