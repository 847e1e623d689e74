/** Reports the queries that enter and leave a dispatcher to a stage watch. */
import type { CommandBuffer } from "stratagem-runtime/internal/core/command-buffer";
import type { QueryDesk } from "../request-flow.ts";
import type { StageWatch } from "./stage-watch.ts";

export class WatchedQueries implements QueryDesk {
  readonly #desk: QueryDesk;
  readonly #taskCount: number;
  readonly #watch: StageWatch;

  /** @param desk names queries like requests under way: by row and task. */
  constructor(desk: QueryDesk, taskCount: number, watch: StageWatch) {
    this.#desk = desk;
    this.#taskCount = taskCount;
    this.#watch = watch;
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
    this.#watch.atMs(nowMs);
    this.#desk.onQuery(query, task, parent, deadlineMs, nowMs, out);
    // A query that is dropped at once never waits.
    if (out.count === 0) this.#watch.queryComes(task);
  }

  onFanout(query: number, childTask: number, count: number): void {
    this.#desk.onFanout(query, childTask, count);
  }

  onCancel(query: number): boolean {
    const waited = this.#desk.onCancel(query);
    if (waited) this.#watch.queryLeaves(query % this.#taskCount);
    return waited;
  }
}
