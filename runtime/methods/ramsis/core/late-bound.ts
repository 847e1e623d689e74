/** How long queries wait that are late. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { fastestServiceMs } from "./policy.ts";

/**
 * A late query is answered within a bound after its deadline, or dropped: as soon as not even the
 * fastest variant can answer it within the bound, and by a timer where no worker becomes free.
 */
export class LateBound {
  /** Infinite in a bundle without a bound, and where late queries are dropped at once. */
  readonly #lateMs: number;
  readonly #fastestMs: number;

  constructor(bundle: RamsisBundle) {
    this.#lateMs = bundle.policy.lateMs ?? Number.POSITIVE_INFINITY;
    this.#fastestMs = fastestServiceMs(bundle);
  }

  /** When a query with this deadline is dropped, if it still waits. */
  dueMs(deadlineMs: number): number {
    return deadlineMs + this.#lateMs - this.#fastestMs;
  }

  /** Time for a batch that answers a query with this deadline within the bound. */
  leftMs(deadlineMs: number, nowMs: number): number {
    return deadlineMs + this.#lateMs - nowMs;
  }
}
