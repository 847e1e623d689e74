/**
 * Course of a request through a pipeline: its first queries, and the queries that follow each one.
 */
import type { CutOutput } from "./batch-tensors.ts";
import type { PipelineQuery, PipelineRequest, QuerySource } from "./pipeline-request.ts";

/** Result where the limit of made rows is reached. */
export const NO_ROOM: unique symbol = Symbol("no room");

/** Maximum number of rows made of one row; more would be an error of a model. */
export const MOST_ROWS: number = 2 ** 20;

export interface Course extends QuerySource {
  /**
   * Returns its first queries, or the reason as text if there can be no answer. Called once, when
   * the rows of the request fit.
   */
  begin(): readonly PipelineQuery[] | string;
  /**
   * Called when a query of the request is done and has its outputs.
   * @param sent result of `Courses.sentOf` for this row of the batch.
   * @returns the queries that can be submitted now; the reason as text if there can be no answer;
   * or `NO_ROOM`.
   */
  follow(
    query: PipelineQuery,
    sent: readonly number[],
    cut: readonly CutOutput[],
    batchRow: number,
  ): readonly PipelineQuery[] | string | typeof NO_ROOM;
  /** Called when the request is settled: no query follows. */
  end(): void;
}

export interface Courses {
  /** Called for every request in order of arrival. */
  courseOf(request: PipelineRequest): Course;
  /**
   * Number of queries that a row of a batch sends along each outgoing edge of its task, or the
   * reason as text if it is unknown. Called once per row, also if its request has ended.
   */
  sentOf(task: number, cut: readonly CutOutput[], batchRow: number): readonly number[] | string;
}
