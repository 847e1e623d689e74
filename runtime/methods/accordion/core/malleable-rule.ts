/** Places queries as Accordion does: running ones give places up. */
import { NONE, type PipelineTable } from "./pipeline-table.ts";
import type { PlaceLedger } from "./place-ledger.ts";
import { type PlaceRule, Shrinks } from "./place-rule.ts";
import type { QueryRuns } from "./query-runs.ts";
import type { ShapeChoice } from "./shape-choice.ts";

interface MalleableOptions {
  readonly reconfigurationMs: number;
  /** Whether a query of high priority starts on fewer places than it needs, to get more later. */
  readonly isEager: boolean;
}

/**
 * Accordion: a query starts on as many free places as help it, if those are enough for its
 * deadline. If not, running queries that meet theirs with fewer places give up what is missing,
 * those with the most slack first; unless all together have enough, none is changed. Source:
 * Accordion §3.3, Algorithm 2, as docs/decisions/0010-malleable-pipelines.md settles it.
 */
export class MalleableRule implements PlaceRule {
  readonly shrinks = new Shrinks();
  readonly #table: PipelineTable;
  readonly #ledger: PlaceLedger;
  readonly #runs: QueryRuns;
  readonly #choice: ShapeChoice;
  readonly #options: MalleableOptions;
  /** Shapes by index among the active queries, less what these have given up so far. */
  readonly #shape: Int32Array;
  /**
   * Slack of active queries with one place less of the class at hand; −1 where they cannot give it.
   */
  readonly #slackMs: Float64Array;

  constructor(
    table: PipelineTable,
    ledger: PlaceLedger,
    runs: QueryRuns,
    choice: ShapeChoice,
    options: MalleableOptions,
  ) {
    this.#table = table;
    this.#ledger = ledger;
    this.#runs = runs;
    this.#choice = choice;
    this.#options = options;
    this.#shape = new Int32Array(ledger.placeCount);
    this.#slackMs = new Float64Array(ledger.placeCount);
  }

  shapeFor(query: number, nowMs: number): number {
    this.shrinks.clear();
    const budgetMs = this.#runs.deadlineMs(query) - nowMs + this.#runs.toleranceMs;
    const free = this.#choice.fastestFree(query);
    const freeMs = free === NONE ? 0 : this.#runs.timeLeftFreeMs(query, free);
    if (free !== NONE && freeMs <= budgetMs) return free;
    const gathered = this.#gather(query, NONE, budgetMs, nowMs);
    if (gathered !== NONE) return gathered;
    // On stragglers alone it would be late, and it is in time on others once these are free.
    const isSlowed = free !== NONE && freeMs > this.#runs.timeLeftMs(query, free);
    if (this.#options.isEager && this.#runs.isHigh(query) && !isSlowed) return free;
    return nowMs >= this.startsAtMs(query) - this.#runs.toleranceMs ? free : NONE;
  }

  passingShape(query: number, nowMs: number): number {
    const budgetMs = this.#runs.deadlineMs(query) - nowMs;
    const least = this.#choice.least(query, budgetMs, this.#ledger.freeCount);
    if (least === NONE || !this.#choice.isFree(least)) return NONE;
    return this.#runs.timeLeftFreeMs(query, least) <= budgetMs ? least : NONE;
  }

  rescueShape(query: number, nowMs: number): number {
    this.shrinks.clear();
    const startMs = nowMs + this.#options.reconfigurationMs;
    const budgetMs = this.#runs.deadlineMs(query) - startMs + this.#runs.toleranceMs;
    return this.#gather(query, this.#runs.shape(query), budgetMs, nowMs);
  }

  foretoldShape(query: number, nowMs: number): number {
    const least = this.#choice.least(query, this.#runs.deadlineMs(query) - nowMs);
    return least === NONE ? this.#choice.fastest(query) : least;
  }

  quickestShape(query: number): number {
    return this.#choice.fastest(query);
  }

  /** When no places could make it meet its deadline any more; then it starts on free ones. */
  startsAtMs(query: number): number {
    const fastest = this.#choice.fastest(query);
    if (fastest === NONE) return Number.POSITIVE_INFINITY;
    return this.#runs.deadlineMs(query) - this.#runs.timeLeftMs(query, fastest);
  }

  /**
   * Returns the smallest shape that meets the deadline and for which others can give up what is
   * missing, as listed in `shrinks`; otherwise NONE.
   * @param own shape of a query that runs; NONE if it waits.
   */
  #gather(query: number, own: number, budgetMs: number, nowMs: number): number {
    const table = this.#table;
    for (let shape = own + 1; shape < table.shapeCount; shape++) {
      if (this.#runs.timeLeftMs(query, shape) > budgetMs || !this.#choice.isUp(shape)) continue;
      if (own !== NONE && !this.#choice.isBeyond(shape, own)) continue;
      if (this.#findShrinks(shape, own, nowMs)) {
        // Places that are free already may be slower than those that are not.
        const isFree = own === NONE && this.shrinks.count === 0;
        if (!isFree || this.#runs.timeLeftFreeMs(query, shape) <= budgetMs) return shape;
      }
      // A larger shape is no easier to place with one class.
      if (table.classCount === 1) return NONE;
    }
    return NONE;
  }

  /** @param own shape of the query that wants another, which is late and gives nothing itself. */
  #findShrinks(wanted: number, own: number, nowMs: number): boolean {
    const { activeCount } = this.#runs;
    const others = own === NONE ? activeCount : activeCount - 1;
    // A running query keeps at least one place.
    if (this.#table.sizeOf(wanted) > this.#ledger.readyCount - others) return false;
    for (let index = 0; index < activeCount; index++) {
      this.#shape[index] = this.#runs.shape(this.#runs.active(index));
    }
    for (let placeClass = 0; placeClass < this.#table.classCount; placeClass++) {
      const has = own === NONE ? 0 : this.#table.countOf(own, placeClass);
      const free = this.#ledger.freeOf(placeClass);
      const missing = this.#table.countOf(wanted, placeClass) - has - free;
      if (missing > 0 && !this.#findGivers(placeClass, missing, nowMs)) return false;
    }
    for (let index = 0; index < activeCount; index++) {
      const query = this.#runs.active(index);
      const shape = this.#shape[index]!;
      if (shape !== this.#runs.shape(query)) this.shrinks.add(query, shape);
    }
    return true;
  }

  /**
   * Takes places of a class one by one from the query that then has the most slack.
   * @returns whether there were enough.
   */
  #findGivers(placeClass: number, missing: number, nowMs: number): boolean {
    const { activeCount } = this.#runs;
    for (let index = 0; index < activeCount; index++) {
      this.#slackMs[index] = this.#slackWithout(index, placeClass, nowMs);
    }
    for (let taken = 0; taken < missing; taken++) {
      let giver = NONE;
      let mostMs = -1;
      for (let index = 0; index < activeCount; index++) {
        if (this.#slackMs[index]! <= mostMs) continue;
        mostMs = this.#slackMs[index]!;
        giver = index;
      }
      if (giver === NONE) return false;
      this.#shape[giver] = this.#table.less(this.#shape[giver]!, placeClass);
      this.#slackMs[giver] = this.#slackWithout(giver, placeClass, nowMs);
    }
    return true;
  }

  /**
   * Returns the slack of an active query with one place of a class less than it has left, ms; −1 if
   * it has none to give, or would be late.
   */
  #slackWithout(index: number, placeClass: number, nowMs: number): number {
    const runs = this.#runs;
    const shape = this.#table.less(this.#shape[index]!, placeClass);
    if (shape === NONE) return -1;
    const query = runs.active(index);
    const deadlineMs = runs.deadlineMs(query);
    const slackMs =
      deadlineMs - nowMs - this.#options.reconfigurationMs - runs.timeLeftMs(query, shape);
    if (!(slackMs >= 0) || runs.finishMs(query, nowMs) > deadlineMs) return -1;
    return slackMs;
  }
}
