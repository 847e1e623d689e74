/** Queues queries by their deadlines. */
import { LinkedQueues } from "../../../core/graph/linked-queues.ts";
import { NONE } from "../../../core/graph/pipeline-shape.ts";

/**
 * Earliest-deadline queues; ties go to the first arrival. An insertion costs as many steps as
 * queries with later deadlines wait, which are few if requests keep their order.
 */
export class QueryQueues extends LinkedQueues {
  readonly #deadlineMs: Float64Array;

  /** @param deadlineMs by query; kept, not copied. */
  constructor(queueCount: number, deadlineMs: Float64Array) {
    super(queueCount, deadlineMs.length);
    this.#deadlineMs = deadlineMs;
  }

  insert(queue: number, query: number): void {
    const deadlines = this.#deadlineMs;
    const deadlineMs = deadlines[query]!;
    let before = this.last(queue);
    while (before !== NONE && deadlines[before]! > deadlineMs) before = this.previous(before);
    this.insertAfter(before, queue, query);
  }
}
