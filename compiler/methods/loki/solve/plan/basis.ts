/** Keeps the basis of one linear program while columns come and go. */
import {
  exchange,
  invert,
  leavingRow,
  simplexMultipliers,
  timesInverse,
} from "../../../../numeric/basis-inverse.ts";

/** One constraint of a linear program. */
export interface Row {
  readonly kind: "entry" | "upper" | "lower" | "held" | "value";
  /** Set, or entry. */
  readonly of: number;
  readonly bound: number;
}

/** A variable other than the share of an assignment. */
export interface Extra {
  readonly kind: "slack" | "artificial" | "idle" | "overflow" | "demand";
  /** Row; the set of an idle server. */
  readonly of: number;
}

/** Pivots after which the inverse is recomputed, against rounding errors. */
const REFACTOR_EVERY = 50;

/** The basis of one linear program, initially the variables that satisfy each row alone. */
export class Basis {
  readonly variables: number[] = [];
  values: Float64Array;
  readonly multipliers: Float64Array;
  readonly #rows: readonly Row[];
  readonly #extras: readonly Extra[];
  readonly #fill: (variable: number, column: Float64Array) => void;
  readonly #inverse: Float64Array;
  readonly #column: Float64Array;
  readonly #direction: Float64Array;
  readonly #cost: Float64Array;
  readonly #isFixed: Uint8Array;
  #sinceRefactor = 0;

  constructor(
    rows: readonly Row[],
    extras: readonly Extra[],
    fill: (variable: number, column: Float64Array) => void,
  ) {
    const count = rows.length;
    this.#rows = rows;
    this.#extras = extras;
    this.#fill = fill;
    this.#inverse = new Float64Array(count * count);
    this.values = new Float64Array(count);
    this.multipliers = new Float64Array(count);
    this.#column = new Float64Array(count);
    this.#direction = new Float64Array(count);
    this.#cost = new Float64Array(count);
    this.#isFixed = new Uint8Array(count);
    for (const [index, row] of rows.entries()) {
      const needsArtificial = row.kind === "lower" || row.kind === "value";
      const variable = needsArtificial
        ? extras.findIndex(({ kind, of }) => kind === "artificial" && of === index)
        : index;
      this.variables.push(variable);
      this.#inverse[index * count + index] = needsArtificial ? -1 : 1;
      this.values[index] = row.bound;
    }
  }

  infeasibility(): number {
    let sum = 0;
    for (let row = 0; row < this.#rows.length; row++) {
      const kind = this.#extras[this.variables[row] ?? 0]?.kind;
      if (kind === "artificial") sum += Math.max(0, this.values[row] ?? 0);
    }
    return sum;
  }

  price(phase: "first" | "second", costOf: (variable: number) => number): void {
    for (let row = 0; row < this.#rows.length; row++) {
      const variable = this.variables[row] ?? 0;
      const isArtificial = this.#extras[variable]?.kind === "artificial";
      this.#isFixed[row] = phase === "second" && isArtificial ? 1 : 0;
      if (phase === "first") this.#cost[row] = isArtificial ? -1 : 0;
      else this.#cost[row] = isArtificial ? 0 : costOf(variable);
    }
    simplexMultipliers(this.variables.length, this.#inverse, this.#cost, this.multipliers);
  }

  objective(phase: "first" | "second", costOf: (variable: number) => number): number {
    if (phase === "first") return -this.infeasibility();
    let sum = 0;
    for (const [row, variable] of this.variables.entries()) {
      sum += costOf(variable) * (this.values[row] ?? 0);
    }
    return sum;
  }

  /** @returns the step; also 0 if nothing bounds it, which only rounding can cause. */
  enter(variable: number): number {
    const count = this.variables.length;
    this.#fill(variable, this.#column);
    timesInverse(count, this.#inverse, this.#column, this.#direction);
    const leaving = leavingRow(count, this.values, this.#direction, this.#isFixed);
    if (leaving < 0) throw new Error("assertion failed: a linear program of servers is bounded");
    const step = exchange(count, this.#inverse, this.values, this.#direction, leaving);
    this.variables[leaving] = variable;
    this.#sinceRefactor++;
    if (this.#sinceRefactor >= REFACTOR_EVERY) this.#refactor();
    return step;
  }

  #refactor(): void {
    const count = this.variables.length;
    const matrix = new Float64Array(count * count);
    for (const [at, variable] of this.variables.entries()) {
      this.#fill(variable, this.#column);
      for (let row = 0; row < count; row++) matrix[row * count + at] = this.#column[row] ?? 0;
    }
    this.#sinceRefactor = 0;
    const inverse = new Float64Array(count * count);
    if (!invert(count, matrix, inverse)) return;
    this.#inverse.set(inverse);
    const bounds = Float64Array.from(this.#rows, ({ kind, bound }) =>
      kind === "lower" || kind === "value" ? -bound : bound,
    );
    timesInverse(count, this.#inverse, bounds, this.values);
  }
}
