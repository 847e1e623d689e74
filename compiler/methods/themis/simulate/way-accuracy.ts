/** Keeps how accurate the way of each query is so far, where plans choose the variants on it. */
import type { CommandBuffer } from "stratagem-runtime/internal/core/command-buffer";
import { NO_PARENT } from "stratagem-runtime/internal/core/graph/pipeline-dispatcher";
import type { QueryDesk } from "../../../simulate/graph/request-flow.ts";

/**
 * Stands before a dispatcher, and sees which query each came from: of a join, the one that came
 * last.
 */
export class WayAccuracy implements QueryDesk {
  readonly #desk: QueryDesk;
  /** [queryCapacity], each: of all before a query, and with what served it. */
  readonly #before: Float64Array;
  readonly #through: Float64Array;

  constructor(desk: QueryDesk, queryCapacity: number) {
    this.#desk = desk;
    this.#before = new Float64Array(queryCapacity).fill(1);
    this.#through = new Float64Array(queryCapacity).fill(1);
  }

  /** A query is served. @param accuracy of its variant. @returns that of its way so far. */
  through(query: number, accuracy: number): number {
    const product = (this.#before[query] ?? 1) * accuracy;
    this.#through[query] = product;
    return product;
  }

  onRequest(nowMs: number): boolean {
    return this.#desk.onRequest(nowMs);
  }

  onQuery(
    query: number,
    task: number,
    parent: number,
    deadlineMs: number,
    nowMs: number,
    out: CommandBuffer,
  ): void {
    this.#before[query] = parent === NO_PARENT ? 1 : (this.#through[parent] ?? 1);
    this.#desk.onQuery(query, task, parent, deadlineMs, nowMs, out);
  }

  onFanout(query: number, childTask: number, count: number): void {
    this.#desk.onFanout(query, childTask, count);
  }

  onCancel(query: number): boolean {
    return this.#desk.onCancel(query);
  }
}
