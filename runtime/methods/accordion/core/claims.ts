/** Tracks the places that high-priority queries need to be on time after all. */
import { ForetoldPlaces } from "./foretold-places.ts";
import { NONE, type PipelineTable } from "./pipeline-table.ts";
import type { PlaceLedger } from "./place-ledger.ts";
import type { Shrinks } from "./place-rule.ts";
import type { QueryRuns } from "./query-runs.ts";
import type { ShapeChoice } from "./shape-choice.ts";

/**
 * A running high-priority query that will be late, but would be on time with more places, has a
 * claim on them: on the fewest that are predicted to be free by the last moment at which they help,
 * in order of deadline. Places go to another query only if as many claims are kept as before:
 * otherwise small queries would take one by one the places that a large one needs at once. Beyond
 * the paper.
 */
export class Claims {
  readonly #runs: QueryRuns;
  readonly #choice: ShapeChoice;
  readonly #reconfigurationMs: number;
  readonly #places: ForetoldPlaces;
  readonly #kept: KeptClaims;
  /** Queries with claims by deadline, and whether their claims are kept as things are. */
  readonly #claimant: Int32Array;
  readonly #isKept: Uint8Array;
  #count = 0;
  /** Queries that run without claims. */
  readonly #other: Int32Array;
  #otherCount = 0;

  constructor(
    table: PipelineTable,
    ledger: PlaceLedger,
    runs: QueryRuns,
    choice: ShapeChoice,
    reconfigurationMs: number,
  ) {
    this.#runs = runs;
    this.#choice = choice;
    this.#reconfigurationMs = reconfigurationMs;
    this.#places = new ForetoldPlaces(table, ledger);
    const { placeCount } = ledger;
    const options = { reconfigurationMs, placeCount };
    this.#kept = new KeptClaims(table, runs, choice, this.#places, options);
    this.#claimant = new Int32Array(placeCount);
    this.#isKept = new Uint8Array(placeCount);
    this.#other = new Int32Array(placeCount);
  }

  get count(): number {
    return this.#count;
  }

  /** When the first of them is lost for good unless something happens; Infinity without any. */
  get lapsesAtMs(): number {
    let atMs = Number.POSITIVE_INFINITY;
    for (let index = 0; index < this.#count; index++) {
      const query = this.claimant(index);
      const quickestMs = this.#runs.timeLeftMs(query, this.#choice.fastest(query));
      // Up to one tolerance it is not lost yet.
      const untilMs = this.#runs.deadlineMs(query) + 2 * this.#runs.toleranceMs;
      atMs = Math.min(atMs, untilMs - this.#reconfigurationMs - quickestMs);
    }
    return atMs;
  }

  /** A query with a claim, that of the earliest deadline first. @param index below `count`. */
  claimant(index: number): number {
    return this.#claimant[index]!;
  }

  /** Updates who has claims and which of them are kept; must be called after every change. */
  look(nowMs: number): void {
    this.#count = 0;
    this.#otherCount = 0;
    for (let index = 0; index < this.#runs.activeCount; index++) {
      const query = this.#runs.active(index);
      if (this.#hasClaim(query, nowMs)) this.#insert(query);
      else this.#other[this.#otherCount++] = query;
    }
    if (this.#count === 0) return;
    this.#suppose(NONE, null, nowMs);
    for (let index = 0; index < this.#count; index++) {
      const isKept = this.#kept.add(this.claimant(index), nowMs);
      this.#isKept[index] = isKept ? 1 : 0;
    }
  }

  /**
   * Whether as many claims are kept, besides its own, if a query gets a shape now.
   * @param query that waits or runs. @param endMs when it is done then.
   * @param shrinks that are carried out for it; null for none.
   */
  allows(
    query: number,
    shape: number,
    endMs: number,
    shrinks: Shrinks | null,
    nowMs: number,
  ): boolean {
    if (this.#count === 0) return true;
    this.#suppose(query, shrinks, nowMs);
    this.#places.take(shape);
    this.#places.hold(shape, endMs);
    let lost = 0;
    for (let index = 0; index < this.#count; index++) {
      const claimant = this.claimant(index);
      if (claimant === query) continue;
      const isKept = this.#kept.add(claimant, nowMs);
      lost += this.#isKept[index]! - (isKept ? 1 : 0);
    }
    return lost <= 0;
  }

  #hasClaim(query: number, nowMs: number): boolean {
    const runs = this.#runs;
    if (!runs.isHigh(query)) return false;
    const deadlineMs = runs.deadlineMs(query) + this.#runs.toleranceMs;
    if (runs.finishMs(query, nowMs) <= deadlineMs) return false;
    const quickestMs = runs.timeLeftMs(query, this.#choice.fastest(query));
    return nowMs + this.#reconfigurationMs + quickestMs <= deadlineMs;
  }

  /** Inserts behind claims of the same deadline. */
  #insert(query: number): void {
    const deadlineMs = this.#runs.deadlineMs(query);
    let at = this.#count++;
    for (; at > 0 && this.#runs.deadlineMs(this.claimant(at - 1)) > deadlineMs; at--) {
      this.#claimant[at] = this.claimant(at - 1);
    }
    this.#claimant[at] = query;
  }

  /** Sets up the places as if one query had none and others had shrunk; no claim is kept yet. */
  #suppose(without: number, shrinks: Shrinks | null, nowMs: number): void {
    const runs = this.#runs;
    this.#kept.clear();
    this.#places.reset();
    if (without !== NONE && runs.isActive(without)) this.#places.give(runs.shape(without));
    for (let index = 0; index < this.#otherCount; index++) {
      const query = this.#other[index]!;
      if (query === without) continue;
      const fewer = shrinks === null ? NONE : shrinks.shapeOf(query);
      if (fewer === NONE) this.#places.hold(runs.shape(query), runs.finishMs(query, nowMs));
      else {
        this.#places.give(runs.shape(query));
        this.#places.take(fewer);
        const startMs = nowMs + this.#reconfigurationMs;
        this.#places.hold(fewer, startMs + runs.timeLeftMs(query, fewer));
      }
    }
  }
}

/**
 * Claims exclude shapes on which a query takes more than this many times the time of one place,
 * because what is wasted there is taken from many others. No depth of the paper's models reaches
 * that; it is reached by queries of few instances, which pipelines hardly speed up.
 */
const MOST_COST = 2.5;

interface KeptClaimsOptions {
  readonly reconfigurationMs: number;
  readonly placeCount: number;
}

/**
 * Set of claims that can all be kept: each has a shape, a last moment at which that helps, and the
 * places that it needs then beside its own and beside those of earlier claims.
 */
class KeptClaims {
  readonly #table: PipelineTable;
  readonly #runs: QueryRuns;
  readonly #choice: ShapeChoice;
  readonly #places: ForetoldPlaces;
  readonly #reconfigurationMs: number;
  readonly #byMs: Float64Array;
  /** Places that are needed by then, [count, classCount], and what is spare beside these. */
  readonly #need: Int32Array;
  readonly #spare: Int32Array;
  #count = 0;

  constructor(
    table: PipelineTable,
    runs: QueryRuns,
    choice: ShapeChoice,
    places: ForetoldPlaces,
    { reconfigurationMs, placeCount }: KeptClaimsOptions,
  ) {
    this.#table = table;
    this.#runs = runs;
    this.#choice = choice;
    this.#places = places;
    this.#reconfigurationMs = reconfigurationMs;
    this.#byMs = new Float64Array(placeCount);
    this.#need = new Int32Array(placeCount * table.classCount);
    this.#spare = new Int32Array(placeCount * table.classCount);
  }

  clear(): void {
    this.#count = 0;
  }

  /**
   * Keeps the claim of a running query, on the first shape with enough places.
   * @returns whether one was found.
   */
  add(query: number, nowMs: number): boolean {
    const own = this.#runs.shape(query);
    const deadlineMs = this.#runs.deadlineMs(query) + this.#runs.toleranceMs;
    const mostMs = MOST_COST * this.#runs.timeLeftMs(query, 0);
    for (let shape = own + 1; shape < this.#table.shapeCount; shape++) {
      const leftMs = this.#runs.timeLeftMs(query, shape);
      const byMs = deadlineMs - this.#reconfigurationMs - leftMs;
      if (!(byMs >= nowMs) || this.#table.sizeOf(shape) * leftMs > mostMs) continue;
      if (!this.#choice.isBeyond(shape, own) || !this.#choice.isUp(shape)) continue;
      if (!this.#fits(shape, own, byMs)) continue;
      this.#enter(byMs);
      return true;
    }
    return false;
  }

  /**
   * Whether enough places are free by a moment, beside those of other claims; recorded at the end.
   */
  #fits(shape: number, own: number, byMs: number): boolean {
    const { classCount } = this.#table;
    for (let placeClass = 0; placeClass < classCount; placeClass++) {
      const need = this.#table.countOf(shape, placeClass) - this.#table.countOf(own, placeClass);
      let spare = this.#places.freeBy(placeClass, byMs) - need;
      for (let index = 0; index < this.#count; index++) {
        const at = index * classCount + placeClass;
        if (this.#byMs[index]! <= byMs) spare -= this.#need[at]!;
        if (this.#byMs[index]! >= byMs && this.#spare[at]! < need) return false;
      }
      if (spare < 0) return false;
      this.#need[this.#count * classCount + placeClass] = need;
      this.#spare[this.#count * classCount + placeClass] = spare;
    }
    return true;
  }

  /** Adds the claim at the end, and subtracts its need from what is spare then or later. */
  #enter(byMs: number): void {
    const { classCount } = this.#table;
    for (let index = 0; index < this.#count; index++) {
      if (this.#byMs[index]! < byMs) continue;
      for (let placeClass = 0; placeClass < classCount; placeClass++) {
        const need = this.#need[this.#count * classCount + placeClass]!;
        this.#spare[index * classCount + placeClass]! -= need;
      }
    }
    this.#byMs[this.#count++] = byMs;
  }
}
