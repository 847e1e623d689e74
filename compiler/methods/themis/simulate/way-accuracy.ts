/** Keeps how accurate the way of each query is so far, where plans choose the variants on it. */
import type { ScaledTask } from "stratagem-runtime/internal/bundle/schema";
import type { CommandBuffer } from "stratagem-runtime/internal/core/command-buffer";
import { wayTo } from "stratagem-runtime/internal/methods/themis/core/plan-accuracy";
import type { QueryDesk } from "../../../simulate/graph/request-flow.ts";

/**
 * Stands before a dispatcher, so that it sees where a row begins. A query is named by its row and
 * its task. Of a task before it the variant counts that served the same row; where that was another
 * row, as behind a fan-out, the variant that served the task last.
 */
export class WayAccuracy implements QueryDesk {
  readonly #desk: QueryDesk;
  readonly #taskCount: number;
  /** [queryCapacity]: of what served a query, 1 as long as nothing did. */
  readonly #own: Float64Array;
  /** [taskCount] */
  readonly #latest: Float64Array;
  /** By task: the tasks before it, and whether they serve the same rows. */
  readonly #ways: readonly (readonly { readonly task: number; readonly isSameRow: boolean }[])[];
  readonly #isFirst: readonly boolean[];

  /** @param scopeByTask whose rows a task serves. */
  constructor(
    desk: QueryDesk,
    tasks: readonly ScaledTask[],
    scopeByTask: ArrayLike<number>,
    queryCapacity: number,
  ) {
    this.#desk = desk;
    this.#taskCount = tasks.length;
    this.#own = new Float64Array(queryCapacity).fill(1);
    this.#latest = new Float64Array(tasks.length).fill(1);
    this.#ways = tasks.map((_, at) => {
      const before = wayTo(tasks, at).slice(0, -1);
      return before.map((task) => ({ task, isSameRow: scopeByTask[task] === scopeByTask[at] }));
    });
    this.#isFirst = this.#ways.map((way) => way.every(({ isSameRow }) => !isSameRow));
  }

  /** A query is served. @param accuracy of its variant. @returns that of its way so far. */
  through(query: number, accuracy: number): number {
    const task = query % this.#taskCount;
    const first = query - task;
    this.#own[query] = accuracy;
    this.#latest[task] = accuracy;
    let product = accuracy;
    for (const { task: before, isSameRow } of this.#ways[task] ?? []) {
      product *= (isSameRow ? this.#own[first + before] : this.#latest[before]) ?? 1;
    }
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
    // The row is a new one, whose name another had before.
    if (this.#isFirst[task]) this.#own.fill(1, query - task, query - task + this.#taskCount);
    this.#desk.onQuery(query, task, parent, deadlineMs, nowMs, out);
  }

  onFanout(query: number, childTask: number, count: number): void {
    this.#desk.onFanout(query, childTask, count);
  }

  onCancel(query: number): boolean {
    return this.#desk.onCancel(query);
  }
}
