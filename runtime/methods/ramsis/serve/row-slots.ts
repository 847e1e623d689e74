/** The dispatcher's names for rows of requests: indices of slots, whose number is limited. */
import { assert } from "../../../core/assert.ts";
import type { PendingRequest } from "../../../server/requests/request.ts";
import type { Row } from "./batch-rows.ts";

export class RowSlots {
  readonly #rowBySlot: (Row | undefined)[];
  readonly #free: number[];

  constructor(slotCount: number) {
    this.#rowBySlot = new Array<Row | undefined>(slotCount).fill(undefined);
    this.#free = Array.from({ length: slotCount }, (_, slot) => slotCount - 1 - slot);
  }

  get freeCount(): number {
    return this.#free.length;
  }

  get usedCount(): number {
    return this.#rowBySlot.length - this.#free.length;
  }

  /** There has to be a free one. */
  take(request: PendingRequest, row: number): number {
    const query = this.#free.pop();
    assert(query !== undefined, "the request was refused if there are not enough slots");
    this.#rowBySlot[query] = { request, row, losses: 0, lossMessage: "" };
    request.queryByRow[row] = query;
    return query;
  }

  row(query: number): Row {
    const row = this.#rowBySlot[query];
    assert(row !== undefined, "a query of the dispatcher has a slot");
    return row;
  }

  /** Whether the slot is one of the request's, and of no other by now. */
  isOf(query: number, request: PendingRequest): boolean {
    return this.#rowBySlot[query]?.request === request;
  }

  free(query: number): Row {
    const row = this.row(query);
    this.#rowBySlot[query] = undefined;
    this.#free.push(query);
    return row;
  }
}
