/**
 * How a request goes through a pipeline: what it begins with, and what follows each of its queries.
 */
import type { CutOutput } from "./batch-tensors.ts";
import type { PipelineQuery, PipelineRequest, QuerySource } from "./pipeline-request.ts";

/** There is no room for the rows that come of a query. */
export const NO_ROOM: unique symbol = Symbol("no room");

/** The way of one request. */
export interface Course extends QuerySource {
  /**
   * Its first queries; or, as text, why there can be no answer. Called once, when there is room for
   * the rows of the request.
   */
  begin(): readonly PipelineQuery[] | string;
  /**
   * A query of the request is done and has its outputs.
   * @param sent as `Courses.sentOf` has it for this row of the batch.
   * @returns the queries that can be handed in now; or, as text, why there can be no answer, which
   * may also be that more rows are under way than are allowed.
   */
  follow(
    query: PipelineQuery,
    sent: readonly number[],
    cut: readonly CutOutput[],
    batchRow: number,
  ): readonly PipelineQuery[] | string | typeof NO_ROOM;
  /** The request is settled: nothing follows any more. */
  end(): void;
}

export interface Courses {
  /** Called for every request that comes, in their order. */
  courseOf(request: PipelineRequest): Course;
  /**
   * Number of queries that a row of a batch sends along each outgoing edge of its task, or the
   * reason as text if it is unknown. Called once per row, also if its request has ended.
   */
  sentOf(task: number, cut: readonly CutOutput[], batchRow: number): readonly number[] | string;
}
