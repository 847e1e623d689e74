/** Searches for the best integer point by branch and price. */
import { branches, summedUp, WHOLE_TOLERANCE, wholeServers } from "./branching.ts";
import type { NodeBounds, NodeProgram, NodeSolution } from "./node-program.ts";
import { OpenNodes } from "./open-nodes.ts";
import type { Steps } from "./pricing.ts";
import type { SlotModel } from "./slots.ts";

export interface SearchLimits {
  readonly nodes: number;
  /** Checked between nodes; the search ends when none are left. */
  readonly steps: Steps;
}

export interface SearchGoal {
  /** Only points worth more than this are searched for. */
  readonly above: number;
  /** Whether the worth of every point is an integer. */
  readonly isWhole: boolean;
  /** The search ends when nothing can be better than its best point by more. */
  readonly gap: (best: number, nodes: number) => number;
  /** Whether the first point ends the search. */
  readonly isAnyEnough: boolean;
  /** Worth of the solution of a node when its sets have this many servers. */
  readonly worth: (solution: NodeSolution, serversBySet: Float64Array) => number;
  /** Whether fewer servers than a solution uses, with the flow adapted, can be a better point. */
  readonly isRounded: boolean;
}

export interface Point {
  readonly columns: readonly number[];
  readonly shares: readonly number[];
  readonly serversBySet: Float64Array;
  readonly worth: number;
}

interface SearchResult {
  readonly best: Point | null;
  /**
   * Proven upper bound on the points that are worth more than `above`; -Infinity if there are no
   * such points.
   */
  readonly bound: number;
  readonly nodes: number;
}

/** Nodes that are all rounded, before only some are. */
const ROUNDED_FIRST = 30;
const ROUNDED_EVERY = 10;
const CLIMB_TRIES = 30;
const RESERVE_STEP = 1 / 64;

/**
 * Branch and price: best bound first, but a node's better half at once, as integer points lie deep.
 * Deterministic.
 *
 * @param root bounds that hold everywhere; those of pools and of all servers are read from `upper`.
 */
export function search(
  model: SlotModel,
  program: NodeProgram,
  root: NodeBounds,
  goal: SearchGoal,
  limits: SearchLimits,
): SearchResult {
  return new Search(model, program, root, goal, limits).run();
}

interface Node {
  readonly bounds: NodeBounds;
  readonly solution: NodeSolution;
}

class Search {
  #best: Point | null = null;
  #nodes = 0;
  /**
   * Highest bound of a node that was dropped although it may improve the best point, by no more
   * than the gap.
   */
  #dropped = Number.NEGATIVE_INFINITY;
  /** Part of the servers that roundings of large models leave free at first. */
  #reserve = 0;
  readonly #open = new OpenNodes<Node>();
  readonly #model: SlotModel;
  readonly #program: NodeProgram;
  readonly #root: NodeBounds;
  readonly #goal: SearchGoal;
  readonly #limits: SearchLimits;

  constructor(
    model: SlotModel,
    program: NodeProgram,
    root: NodeBounds,
    goal: SearchGoal,
    limits: SearchLimits,
  ) {
    this.#model = model;
    this.#program = program;
    this.#root = root;
    this.#goal = goal;
    this.#limits = limits;
  }

  run(): SearchResult {
    const mayClimb = this.#model.isLarge && this.#goal.isRounded;
    const { steps, nodes } = this.#limits;
    const leastSteps = mayClimb ? steps.left / 2 : 0;
    let node = this.#solve(this.#root);
    while (node !== null || this.#open.size > 0) {
      node ??= this.#open.pop();
      if (node === null || this.#isDone(node.solution.bound)) {
        node = null;
        continue;
      }
      const isEnough = this.#goal.isAnyEnough && this.#best !== null;
      if (isEnough || this.#nodes >= nodes || steps.left <= leastSteps) {
        this.#open.push(node.solution.bound, node);
        break;
      }
      node = this.#divide(node);
    }
    if (mayClimb) this.#climb();
    const open = this.#open.highest() ?? Number.NEGATIVE_INFINITY;
    const found = this.#best?.worth ?? Number.NEGATIVE_INFINITY;
    return { best: this.#best, bound: Math.max(open, found, this.#dropped), nodes: this.#nodes };
  }
  get #target(): number {
    return Math.max(this.#best?.worth ?? Number.NEGATIVE_INFINITY, this.#goal.above);
  }

  get #cutoff(): number {
    const target = this.#target;
    if (this.#goal.isWhole) return target + 1 - 1e-6;
    return target + this.#goal.gap(target, this.#nodes);
  }

  #isDone(bound: number): boolean {
    if (bound > this.#cutoff) return false;
    if (!this.#goal.isWhole) this.#drop(bound);
    return true;
  }

  #drop(bound: number): void {
    this.#dropped = Math.max(this.#dropped, bound);
  }

  /** Solves a node; returns it if it may still improve the best point. */
  #solve(bounds: NodeBounds, likely: readonly number[] = []): Node | null {
    this.#nodes++;
    const solution = this.#program.solve(bounds, this.#cutoff, likely);
    if (solution.status === "infeasible") return null;
    const isOptimal = solution.status === "optimal";
    const point = isOptimal ? this.#consider(solution) : null;
    if (point !== null && point.worth >= solution.bound - 1e-12) return null;
    const isRounded = this.#nodes <= ROUNDED_FIRST || this.#nodes % ROUNDED_EVERY === 0;
    if (this.#goal.isRounded && isRounded && isOptimal && point === null) {
      if (this.#model.isLarge) this.#roundReserved(bounds);
      else this.#round(solution);
    }
    if (this.#isDone(solution.bound)) return null;
    if (isOptimal) return { bounds, solution };
    this.#drop(solution.bound);
    return null;
  }

  /** Returns the better half; the other one waits. */
  #divide({ bounds, solution }: Node): Node | null {
    const halves = branches(this.#model, bounds, solution);
    if (halves === null) {
      this.#drop(solution.bound);
      return null;
    }
    const [one, other] = halves
      .map((half) => this.#solve(half, solution.columns))
      .filter((node) => node !== null);
    if (one === undefined || other === undefined) return one ?? null;
    const isFirst = one.solution.bound >= other.solution.bound;
    const [now, later] = isFirst ? [one, other] : [other, one];
    this.#open.push(later.solution.bound, later);
    return now;
  }

  /**
   * Keeps the solution as a point if integer servers for it fit.
   * @returns it, also when it is no better than the best.
   */
  #consider(solution: NodeSolution): Point | null {
    const servers = wholeServers(this.#model, solution);
    if (servers === null) return null;
    const serversBySet = summedUp(this.#model, servers);
    for (const [set, bound] of this.#root.upper) {
      if ((serversBySet[set] ?? 0) > bound) return null;
    }
    const worth = this.#goal.worth(solution, serversBySet);
    const point = { columns: solution.columns, shares: solution.shares, serversBySet, worth };
    if (worth > this.#target) this.#best = point;
    return point;
  }

  /** Moves servers of the best point one by one while that improves it. */
  #climb(): void {
    let start: Point | null = null;
    while (this.#limits.steps.left > 0 && this.#best !== start) {
      start = this.#best;
      if (start === null) return;
      const servers = this.#serversBySlot(start);
      const less = [...servers.keys()].map((id) => ({ id, worth: this.#worthOf(servers, id, -1) }));
      const more = this.#model.slots.map((_, id) => ({ id, worth: this.#worthOf(servers, id, 1) }));
      const moves = less
        .flatMap((from) =>
          more.map((to) => ({ from: from.id, to: to.id, sum: from.worth + to.worth })),
        )
        .filter(({ from, to }) => from !== to)
        .sort((one, other) => other.sum - one.sum)
        .slice(0, CLIMB_TRIES);
      for (const { from, to } of moves) {
        if (this.#best !== start) break;
        this.#worthOf(this.#moved(servers, from, -1), to, 1);
      }
    }
  }

  #serversBySlot({ columns, serversBySet }: Point): Map<number, number> {
    const ids = columns.flatMap((column) => [...this.#program.pool.slotsOf(column)]);
    const setOf = (id: number) => this.#model.slots[id]?.set ?? 0;
    return new Map(ids.map((id) => [id, serversBySet[setOf(id)] ?? 0]));
  }

  /** Another slot of a set takes all its servers: they have one batch size. */
  #moved(servers: ReadonlyMap<number, number>, id: number, by: number): Map<number, number> {
    const { slots } = this.#model;
    const other = [...servers.keys()].find(
      (one) => one !== id && slots[one]?.set === slots[id]?.set,
    );
    const moved = new Map(servers);
    if (other !== undefined) {
      moved.delete(other);
      return moved.set(id, servers.get(other) ?? 0);
    }
    return moved.set(id, (servers.get(id) ?? 0) + by);
  }

  /** Worth of the best flow after a move; if the servers fit it may become the best point. */
  #worthOf(servers: ReadonlyMap<number, number>, id: number, by: number): number {
    const isBanned = new Uint8Array(this.#model.slots.length).fill(1);
    const upper = new Map<number, number>();
    for (const [slot, count] of this.#moved(servers, id, by)) {
      if (count === 0) continue;
      isBanned[slot] = 0;
      upper.set(this.#model.slots[slot]?.set ?? 0, count);
    }
    const solution = this.#program.solve({ lower: new Map(), upper, isBanned }, -1);
    if (solution.status !== "optimal") return Number.NEGATIVE_INFINITY;
    this.#consider(solution);
    return this.#goal.worth(solution, new Float64Array(0));
  }

  /**
   * Rounds the solution for fewer servers, so that it fits when it is rounded up: with many tasks,
   * the servers of some would otherwise be too few.
   */
  #roundReserved(bounds: NodeBounds): void {
    for (; this.#reserve < 1; this.#reserve += RESERVE_STEP) {
      const upper = new Map(bounds.upper);
      for (const [set, count] of this.#root.upper) upper.set(set, count * (1 - this.#reserve));
      const solution = this.#program.solve({ ...bounds, upper }, this.#target);
      if (solution.status !== "optimal" || this.#round(solution)) break;
    }
    this.#reserve = Math.max(0, this.#reserve - RESERVE_STEP);
  }

  /**
   * Tries the best flow through integer numbers of servers near the solution's in each set. If a
   * variant may use several batch sizes, also with only one: a solution that uses many of them a
   * little has nothing to round to.
   * @returns whether servers fit and a point is known.
   */
  #round(solution: NodeSolution): boolean {
    const isAny = this.#roundBy(solution, "set");
    if (this.#model.problem.oneBatchPerVariant) return isAny;
    return this.#roundBy(solution, "group") || isAny;
  }

  #roundBy({ use, shareBySlot, columns }: NodeSolution, by: "set" | "group"): boolean {
    const { slots, sets } = this.#model;
    const kept = new Map<number, number>();
    for (const [id, slot] of slots.entries()) {
      if ((shareBySlot[id] ?? 0) <= 0) continue;
      const before = kept.get(slot[by]);
      if (before === undefined || (use[id] ?? 0) > (use[before] ?? 0)) kept.set(slot[by], id);
    }
    const isBanned = new Uint8Array(slots.length).fill(1);
    const servers = new Float64Array(sets.length);
    const parts = [...kept].map(([counted, id]) => {
      isBanned[id] = 0;
      const set = slots[id]?.set ?? counted;
      const used = sets[counted]?.slots.reduce((sum, one) => sum + (use[one] ?? 0), 0) ?? 0;
      const whole = Math.floor(used + WHOLE_TOLERANCE);
      servers[set] = whole;
      return { set, id, part: used - whole, pool: 1 + (slots[id]?.pool ?? 0) };
    });
    const total = summedUp(this.#model, servers.slice());
    parts.sort((one, other) => other.part - one.part || one.set - other.set);
    for (const { set, pool, part } of parts) {
      const fits = [0, pool].every((at) => (total[at] ?? 0) < (this.#root.upper.get(at) ?? 1e9));
      if (!fits || (part <= WHOLE_TOLERANCE && (servers[set] ?? 0) > 0)) continue;
      servers[set] = (servers[set] ?? 0) + 1;
      for (const at of [0, pool]) total[at] = (total[at] ?? 0) + 1;
    }
    const upper = new Map(this.#root.upper);
    for (const { set, id } of parts) {
      if (servers[set] === 0) isBanned[id] = 1;
      else upper.set(set, servers[set] ?? 0);
    }
    const solution = this.#program.solve(
      { lower: new Map(), upper, isBanned },
      this.#target,
      columns,
    );
    if (solution.status === "optimal") this.#consider(solution);
    return solution.status !== "infeasible" && this.#best !== null;
  }
}
