/** Gives the dispatcher its names for queries: indices of slots. */
import { assert } from "../../core/assert.ts";
import type { PipelineQuery } from "./requests/pipeline-request.ts";

/**
 * Slots of queries; their indices are the dispatcher's names for queries, so their number is
 * limited.
 */
export class QuerySlots {
  readonly #queryBySlot: (PipelineQuery | undefined)[];
  readonly #free: number[];

  constructor(slotCount: number) {
    this.#queryBySlot = new Array<PipelineQuery | undefined>(slotCount).fill(undefined);
    this.#free = Array.from({ length: slotCount }, (_, slot) => slotCount - 1 - slot);
  }

  get freeCount(): number {
    return this.#free.length;
  }

  get usedCount(): number {
    return this.#queryBySlot.length - this.#free.length;
  }

  /** A slot must be free. */
  take(query: PipelineQuery): number {
    const slot = this.#free.pop();
    assert(slot !== undefined, "a request is refused if there are not enough slots");
    this.#queryBySlot[slot] = query;
    query.request.slots.add(slot);
    return slot;
  }

  query(slot: number): PipelineQuery {
    const query = this.#queryBySlot[slot];
    assert(query !== undefined, "a query of the dispatcher has a slot");
    return query;
  }

  /** The query is done: its request has it no more, but its name is not free yet. */
  retire(slot: number): void {
    this.query(slot).request.slots.delete(slot);
  }

  free(slot: number): PipelineQuery {
    const query = this.query(slot);
    this.#queryBySlot[slot] = undefined;
    this.#free.push(slot);
    query.request.slots.delete(slot);
    return query;
  }
}
