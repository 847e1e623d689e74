/** Solves the linear program of one node of the search by column generation. */
import { bestColumn } from "../../../../numeric/basis-inverse.ts";
import { Basis, type Extra, type Row } from "./basis.ts";
import type { ColumnPool } from "./column-pool.ts";
import { FrontierPricer } from "./frontier-pricing.ts";
import { Pricer, type Pricing, type Steps } from "./pricing.ts";
import type { SlotModel } from "./slots.ts";

/** Objective of the linear program of a node, maximised over the shares f of assignments. */
export interface Objective {
  /** Weight of the accuracy; 0 or 1. */
  readonly valueScale: number;
  /**
   * Cost of one server in each set, by set; a server in a set costs what it costs in the smallest
   * one.
   */
  readonly serverCost: Float64Array;
  /** Whether the demand is maximised; shares are then requests per second and have no sum. */
  readonly isDemand: boolean;
  /** Lower bound on the accuracy, null for none. */
  readonly leastValue: number | null;
  /** Servers of a set that cost nothing; more of them cost 1 each. */
  readonly held: ReadonlyMap<number, number>;
}

/** Bounds of one node of the search, on the integer number of servers in each set. */
export interface NodeBounds {
  readonly lower: ReadonlyMap<number, number>;
  readonly upper: ReadonlyMap<number, number>;
  /** Indexed by slot. */
  readonly isBanned: Uint8Array;
}

export interface NodeSolution {
  /** "cut": not above the cutoff. */
  readonly status: "optimal" | "infeasible" | "cut";
  /** Proven upper bound of the objective in this node. */
  readonly bound: number;
  /** Assignments with a share. */
  readonly columns: readonly number[];
  readonly shares: readonly number[];
  /** Servers by slot that the shares fill, not rounded. */
  readonly use: Float64Array;
  readonly shareBySlot: Float64Array;
  /** Servers of a set beyond those of its subsets, by set. */
  readonly idle: Float64Array;
}

const NO_ROW: Row = { kind: "entry", of: 0, bound: 0 };
const REDUCED_COST_TOLERANCE = 1e-10;
const FEASIBILITY_TOLERANCE = 1e-9;
const SHARE_TOLERANCE = 1e-9;
/** Relative improvement below which a large model counts as solved. */
const LARGE_TAIL = 1e-4;
const MAX_PIVOTS = 5000;
const DEGENERATE_BEFORE_BLAND = 60;

/**
 * Linear programs over all assignments, one for each node of a search, solved by column generation
 * over a pool that the nodes share.
 *
 * A server need not be a variable: with integrality relaxed, a share f of an assignment takes f
 * times its use. Bounds add idle servers, which a set must have beyond those in use. Rows: one per
 * entry (shares sum to 1), one per bound.
 */
export class NodeProgram {
  readonly pool: ColumnPool;
  readonly #steps: Steps;
  readonly #model: SlotModel;
  readonly #objective: Objective;
  readonly #entries: readonly number[];
  readonly #pricer: Pricing;
  readonly #ancestors: readonly (readonly number[])[];
  readonly #setOf: Uint32Array;
  readonly #parent: Uint32Array;
  readonly #slotPrice: Float64Array;
  readonly #queryPrice: Float64Array;
  readonly #setPrice: Float64Array;
  readonly #useBySet: Float64Array;

  constructor(model: SlotModel, pool: ColumnPool, objective: Objective, steps: Steps) {
    this.#model = model;
    this.#steps = steps;
    this.pool = pool;
    this.#objective = objective;
    this.#entries = entriesOf(model);
    this.#pricer = model.isLarge ? new FrontierPricer(model, steps) : new Pricer(model, steps);
    this.#ancestors = model.sets.map((_, set) => ancestorsOf(model, set));
    this.#setOf = Uint32Array.from(model.slots, ({ set }) => set);
    this.#parent = Uint32Array.from(model.sets, ({ parent }) => parent ?? 0);
    this.#slotPrice = new Float64Array(model.slots.length);
    this.#queryPrice = new Float64Array(model.slots.length);
    this.#setPrice = new Float64Array(model.sets.length);
    this.#useBySet = new Float64Array(model.sets.length);
  }

  /** Rows that every node has. */
  get rootRowCount(): number {
    const { held, leastValue } = this.#objective;
    const poolCount = this.#model.problem.servers.length;
    return this.#entries.length + poolCount + held.size + (leastValue === null ? 0 : 1);
  }

  /**
   * @param cutoff a bound at or below it needs no exact solution.
   * @param likely columns that are tried before all others.
   */
  solve(bounds: NodeBounds, cutoff: number, likely: readonly number[] = []): NodeSolution {
    const rows = this.#rows(bounds);
    const extras = this.#extras(rows);
    const basis = new Basis(rows, extras, (variable, column) =>
      this.#fill(rows, extras, variable, column),
    );
    const first = this.#allowed(Uint32Array.from(likely), bounds.isBanned);
    let active = this.#active(bounds.isBanned);
    let bound = Number.POSITIVE_INFINITY;
    let degenerate = 0;
    const taskCount = this.#model.problem.tasks.length;
    for (let pivots = 0; pivots < MAX_PIVOTS; pivots++) {
      this.#steps.left -= (first.length + active.length) * taskCount + 4 * rows.length ** 2;
      const isFirstPhase = basis.infeasibility() > FEASIBILITY_TOLERANCE;
      const scale = this.#price(rows, extras, basis, isFirstPhase);
      const isFirstTaken = degenerate > DEGENERATE_BEFORE_BLAND;
      const entering =
        this.#entering(rows, extras, basis, first, scale, isFirstPhase, isFirstTaken) ??
        this.#entering(rows, extras, basis, active, scale, isFirstPhase, isFirstTaken);
      if (entering !== null) {
        degenerate = basis.enter(entering) > 1e-12 ? 0 : degenerate + 1;
        continue;
      }
      const gain = this.#generate(bounds.isBanned, basis.multipliers, scale);
      const value = basis.objective(isFirstPhase ? "first" : "second", (variable) =>
        this.#cost(extras, variable),
      );
      if (!this.#objective.isDemand || gain === 0) {
        if (isFirstPhase && value + gain < -1e-8)
          return this.#nothing("infeasible", Number.NEGATIVE_INFINITY);
        if (!isFirstPhase) bound = Math.min(bound, value + gain);
        if (bound <= cutoff) return this.#nothing("cut", bound);
      }
      const isNear = this.#model.isLarge && gain <= LARGE_TAIL * value;
      if (gain === 0 || (isNear && !isFirstPhase && !this.#objective.isDemand))
        return this.#solution(extras, basis, bound);
      active = this.#active(bounds.isBanned);
    }
    return { ...this.#solution(extras, basis, bound), status: "cut", bound };
  }

  #rows({ lower, upper }: NodeBounds): Row[] {
    const sum = this.#objective.isDemand ? 0 : 1;
    const rows: Row[] = this.#entries.map((_, of) => ({ kind: "entry", of, bound: sum }));
    for (const [of, bound] of upper) rows.push({ kind: "upper", of, bound });
    for (const [of, bound] of this.#objective.held) rows.push({ kind: "held", of, bound });
    for (const [of, bound] of lower) if (bound > 0) rows.push({ kind: "lower", of, bound });
    const least = this.#objective.leastValue;
    if (least !== null) rows.push({ kind: "value", of: 0, bound: least });
    return rows;
  }

  #extras(rows: readonly Row[]): Extra[] {
    const extras: Extra[] = [];
    for (const [of, row] of rows.entries()) {
      extras.push({ kind: row.kind === "entry" ? "artificial" : "slack", of });
    }
    for (const [of, row] of rows.entries()) {
      if (row.kind === "lower") extras.push({ kind: "idle", of: row.of });
      if (row.kind === "held") extras.push({ kind: "overflow", of });
      if (row.kind === "lower" || row.kind === "value") extras.push({ kind: "artificial", of });
    }
    if (this.#objective.isDemand) extras.push({ kind: "demand", of: 0 });
    return extras;
  }

  #active(isBanned: Uint8Array): Uint32Array {
    return this.#allowed(
      Uint32Array.from({ length: this.pool.count }, (_, at) => at),
      isBanned,
    );
  }

  /** Keeps the columns without a banned slot, in place. */
  #allowed(columns: Uint32Array, isBanned: Uint8Array): Uint32Array {
    let count = 0;
    const { start, slot } = this.pool;
    for (let place = 0; place < columns.length; place++) {
      const column = columns[place] ?? 0;
      let isAllowed = true;
      const end = start[column + 1] ?? 0;
      for (let at = start[column] ?? 0; at < end; at++) {
        if (isBanned[slot[at] ?? 0] === 1) isAllowed = false;
      }
      if (isAllowed) columns[count++] = column;
    }
    return columns.subarray(0, count);
  }

  /**
   * Prices of servers from the multipliers of the rows.
   * @returns the worth of a unit of accuracy.
   */
  #price(rows: readonly Row[], extras: readonly Extra[], basis: Basis, isFirstPhase: boolean) {
    basis.price(isFirstPhase ? "first" : "second", (variable) => this.#cost(extras, variable));
    const { sets, slots } = this.#model;
    const { serverCost, valueScale } = this.#objective;
    const price = this.#setPrice.fill(0);
    let scale = isFirstPhase ? 0 : valueScale;
    for (let index = 0; index < rows.length; index++) {
      const { kind, of } = rows[index] ?? NO_ROW;
      const multiplier = basis.multipliers[index] ?? 0;
      if (kind === "value") scale += multiplier;
      else if (kind === "lower") price[of] = (price[of] ?? 0) - multiplier;
      else if (kind !== "entry") price[of] = (price[of] ?? 0) + multiplier;
    }
    for (let set = 1; set < sets.length; set++) {
      price[set] = (price[set] ?? 0) + (price[this.#parent[set] ?? 0] ?? 0);
    }
    for (let id = 0; id < slots.length; id++) {
      const set = this.#setOf[id] ?? 0;
      this.#slotPrice[id] = (price[set] ?? 0) + (isFirstPhase ? 0 : (serverCost[set] ?? 0));
    }
    return scale;
  }

  /** Cost in the second phase. */
  #cost(extras: readonly Extra[], variable: number): number {
    const extra = extras[variable];
    if (extra === undefined) return this.#columnCost(variable - extras.length);
    if (extra.kind === "demand") return 1;
    if (extra.kind === "overflow") return -1;
    if (extra.kind === "idle") return -(this.#objective.serverCost[extra.of] ?? 0);
    return 0;
  }

  #columnCost(column: number): number {
    const { serverCost, valueScale } = this.#objective;
    const { start, slot, use, value } = this.pool;
    let cost = valueScale * (value[column] ?? 0);
    for (let at = start[column] ?? 0; at < (start[column + 1] ?? 0); at++) {
      const set = this.#model.slots[slot[at] ?? 0]?.set ?? 0;
      cost -= (use[at] ?? 0) * (serverCost[set] ?? 0);
    }
    return cost;
  }

  /**
   * Variable to enter: the highest reduced cost among the known ones, or the first positive one.
   */
  #entering(
    rows: readonly Row[],
    extras: readonly Extra[],
    basis: Basis,
    active: Uint32Array,
    scale: number,
    isFirstPhase: boolean,
    isFirstTaken: boolean,
  ): number | null {
    let best: number | null = null;
    let highest = REDUCED_COST_TOLERANCE;
    for (let variable = 0; variable < extras.length; variable++) {
      const extra = extras[variable];
      if (extra === undefined || extra.kind === "artificial") continue;
      const reduced = this.#reducedCost(rows, extra, basis.multipliers, isFirstPhase);
      if (reduced <= highest) continue;
      if (isFirstTaken) return variable;
      best = variable;
      highest = reduced;
    }
    const { start, slot, use, value, entry } = this.pool;
    const place = bestColumn(
      active.length,
      active,
      start,
      slot,
      use,
      value,
      entry,
      this.#slotPrice,
      basis.multipliers,
      scale,
      highest,
    );
    return place < 0 ? best : extras.length + (active[place] ?? 0);
  }

  #reducedCost(
    rows: readonly Row[],
    { kind, of }: Extra,
    multipliers: Float64Array,
    isFirstPhase: boolean,
  ) {
    const multiplier = multipliers[of] ?? 0;
    switch (kind) {
      case "slack":
        return -multiplier;
      case "overflow":
        return (isFirstPhase ? 0 : -1) + multiplier;
      case "idle":
        return (
          -(isFirstPhase ? 0 : (this.#objective.serverCost[of] ?? 0)) - (this.#setPrice[of] ?? 0)
        );
      case "demand": {
        let sum = isFirstPhase ? 0 : 1;
        for (const [index, row] of rows.entries()) {
          if (row.kind === "entry") sum += multipliers[index] ?? 0;
        }
        return sum;
      }
      case "artificial":
        return 0;
    }
  }

  /**
   * Adds the best assignment of each entry that is not in the pool.
   * @returns the sum of their reduced costs.
   */
  #generate(isBanned: Uint8Array, multipliers: Float64Array, scale: number): number {
    for (const [id, { throughputQps }] of this.#model.slots.entries()) {
      this.#queryPrice[id] = ((this.#slotPrice[id] ?? 0) * this.pool.demandQps) / throughputQps;
    }
    this.#pricer.prepare(this.#queryPrice, isBanned, scale);
    let gain = 0;
    for (const [index, entry] of this.#entries.entries()) {
      const floor = (multipliers[index] ?? 0) + 2 * REDUCED_COST_TOLERANCE;
      const worth = this.#pricer.best(entry, floor);
      if (worth === Number.NEGATIVE_INFINITY) continue;
      const known = this.pool.count;
      this.pool.add(index, this.#pricer.choice);
      // Rounding can make an old column look better than it was: nothing is gained then.
      if (this.pool.count > known) gain += worth - (multipliers[index] ?? 0);
    }
    return gain;
  }

  #fill(rows: readonly Row[], extras: readonly Extra[], variable: number, to: Float64Array): void {
    to.fill(0);
    const extra = extras[variable];
    if (extra === undefined) {
      this.#fillColumn(rows, variable - extras.length, to);
      return;
    }
    for (const [index, row] of rows.entries()) {
      if (extra.kind === "demand") to[index] = row.kind === "entry" ? -1 : 0;
      else if (extra.kind === "idle") to[index] = this.#idleEntry(row, extra.of);
      else if (index === extra.of) to[index] = entryOf(extra.kind, row);
    }
  }

  #idleEntry(row: Row, set: number): number {
    if (row.kind === "entry" || row.kind === "value") return 0;
    if (this.#ancestors[set]?.includes(row.of) !== true) return 0;
    return row.kind === "lower" ? -1 : 1;
  }

  #fillColumn(rows: readonly Row[], column: number, to: Float64Array): void {
    const slots = this.pool.slotsOf(column);
    const uses = this.pool.usesOf(column);
    const bySet = this.#useBySet.fill(0);
    for (let at = 0; at < slots.length; at++) {
      let set = this.#setOf[slots[at] ?? 0] ?? 0;
      while (set > 0) {
        bySet[set] = (bySet[set] ?? 0) + (uses[at] ?? 0);
        set = this.#parent[set] ?? 0;
      }
      bySet[0] = (bySet[0] ?? 0) + (uses[at] ?? 0);
    }
    for (let index = 0; index < rows.length; index++) {
      const { kind, of } = rows[index] ?? NO_ROW;
      if (kind === "entry") to[index] = this.pool.entry[column] === of ? 1 : 0;
      else if (kind === "value") to[index] = -(this.pool.value[column] ?? 0);
      else to[index] = kind === "lower" ? -(bySet[of] ?? 0) : (bySet[of] ?? 0);
    }
  }

  #nothing(status: "infeasible" | "cut", bound: number): NodeSolution {
    const empty = new Float64Array(0);
    return { status, bound, columns: [], shares: [], use: empty, shareBySlot: empty, idle: empty };
  }

  #solution(extras: readonly Extra[], basis: Basis, bound: number): NodeSolution {
    const { slots, sets } = this.#model;
    const use = new Float64Array(slots.length);
    const shareBySlot = new Float64Array(slots.length);
    const idle = new Float64Array(sets.length);
    const columns: number[] = [];
    const shares: number[] = [];
    for (const [row, variable] of basis.variables.entries()) {
      const value = basis.values[row] ?? 0;
      const extra = extras[variable];
      if (extra?.kind === "idle") idle[extra.of] = (idle[extra.of] ?? 0) + value;
      if (extra !== undefined || value <= SHARE_TOLERANCE) continue;
      const column = variable - extras.length;
      columns.push(column);
      shares.push(value);
      const uses = this.pool.usesOf(column);
      for (const [at, id] of this.pool.slotsOf(column).entries()) {
        use[id] = (use[id] ?? 0) + value * (uses[at] ?? 0);
        shareBySlot[id] = (shareBySlot[id] ?? 0) + value;
      }
    }
    return { status: "optimal", bound, columns, shares, use, shareBySlot, idle };
  }
}

function entryOf(kind: Extra["kind"], row: Row): number {
  if (kind === "slack") return 1;
  if (kind === "overflow") return -1;
  return row.kind === "entry" ? 1 : -1;
}

export function entriesOf({ problem }: SlotModel): number[] {
  return problem.tasks.flatMap((task, index) => (task.parent === null ? [index] : []));
}

function ancestorsOf({ sets }: SlotModel, set: number): number[] {
  const found: number[] = [];
  for (let at: number | null = set; at !== null; at = sets[at]?.parent ?? null) found.push(at);
  return found;
}
