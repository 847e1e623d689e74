/** Buffers queries behind a running query of their model, as BBS does. */
import { LinkedQueues } from "../../../core/graph/linked-queues.ts";
import { NONE } from "./pipeline-table.ts";
import type { QueryRuns } from "./query-runs.ts";

/**
 * Buffers of BBS: queries that wait for the places of a running query of the same model, and get
 * them one after the other, high priority first. A set of places is named by its first one. Source:
 * Accordion §4.2 (3).
 */
export class QueryBuffers {
  readonly #runs: QueryRuns;
  /** Two for each set: high, then low priority. */
  readonly #queues: LinkedQueues;
  /** Total time of the queries buffered for a set, ms. */
  readonly #backlogMs: Float64Array;
  /** Set that a query waits for, and its time there. */
  readonly #set: Uint16Array;
  readonly #timeMs: Float64Array;

  constructor(runs: QueryRuns, queryCapacity: number, placeCount: number) {
    this.#runs = runs;
    this.#queues = new LinkedQueues(2 * placeCount, queryCapacity);
    this.#backlogMs = new Float64Array(placeCount);
    this.#set = new Uint16Array(queryCapacity);
    this.#timeMs = new Float64Array(queryCapacity);
  }

  get waiting(): number {
    return this.#queues.waiting;
  }

  /**
   * Buffers a query behind the running one of its model whose places are free first.
   * @returns whether there was one.
   */
  buffer(query: number, nowMs: number): boolean {
    const runs = this.#runs;
    let earliestMs = Number.POSITIVE_INFINITY;
    let behind = NONE;
    for (let index = 0; index < runs.activeCount; index++) {
      const other = runs.active(index);
      if (runs.model(other) !== runs.model(query)) continue;
      const freeMs = runs.finishMs(other, nowMs) + this.#backlogMs[runs.place(other, 0)]!;
      if (freeMs >= earliestMs) continue;
      earliestMs = freeMs;
      behind = other;
    }
    if (behind === NONE) return false;
    const set = runs.place(behind, 0);
    this.#queues.append(2 * set + (runs.isHigh(query) ? 0 : 1), query);
    this.#set[query] = set;
    this.#timeMs[query] = runs.timeLeftMs(query, runs.shape(behind));
    this.#backlogMs[set]! += this.#timeMs[query]!;
    return true;
  }

  /** Removes and returns the next query for the places of a set, or NONE. */
  take(set: number): number {
    const high = this.#queues.first(2 * set);
    const query = high === NONE ? this.#queues.first(2 * set + 1) : high;
    if (query !== NONE) this.remove(query);
    return query;
  }

  /** @returns whether the query was buffered. */
  remove(query: number): boolean {
    if (!this.#queues.remove(query)) return false;
    const set = this.#set[query]!;
    const isLast = this.#queues.length(2 * set) + this.#queues.length(2 * set + 1) === 0;
    // Sums that begin again at zero do not drift.
    this.#backlogMs[set] = isLast ? 0 : this.#backlogMs[set]! - this.#timeMs[query]!;
    return true;
  }
}
