/** Entry of requests: each becomes queries of the entry tasks, or is rejected as a whole. */
import type { PathTimes } from "../../core/decision-slo.ts";
import { NO_PARENT } from "../../core/graph/pipeline-dispatcher.ts";
import { GIVEN_UP, type Outcome, type RequestRows, type Submission } from "../requests/request.ts";
import type { OpenRequests } from "./open-requests.ts";
import type { PipelineCommand } from "./pipeline-recording.ts";
import type { QuerySlots } from "./query-slots.ts";
import type { RecordedDispatcher } from "./recorded-dispatcher.ts";
import type { Course, Courses } from "./requests/course.ts";
import {
  type AnswererOf,
  type PipelineQuery,
  PipelineRequest,
} from "./requests/pipeline-request.ts";
import type { PipelineSignature } from "./signature/pipeline-signature.ts";

interface RequestEntryOptions {
  readonly signature: PipelineSignature;
  readonly answererOf: AnswererOf;
  readonly courses: Courses;
  /** Maximum number of rows in unanswered requests. */
  readonly maxPending: number;
  readonly slots: QuerySlots;
  readonly requests: OpenRequests;
  readonly dispatcher: Pick<RecordedDispatcher, "onRequest" | "onQuery">;
  /** Times of the request path that deadlines include; undefined for none. */
  readonly path: PathTimes | undefined;
  /** Executes commands of the dispatcher. */
  readonly carryOut: (commands: readonly PipelineCommand[], nowMs: number) => void;
  /** Once all queries of an event are handed in. */
  readonly startBatches: (nowMs: number) => void;
}

export class RequestEntry {
  readonly #options: RequestEntryOptions;

  constructor(options: RequestEntryOptions) {
    this.#options = options;
  }

  /**
   * @param deadlineMs the client's deadline; decisions reserve time for the request path.
   * @param bucket sizes that its rows were padded to.
   */
  submit(rows: RequestRows, deadlineMs: number, nowMs: number, bucket = 0): Submission {
    let settle: (outcome: Outcome) => void = () => {};
    const outcome = new Promise<Outcome>((resolve) => {
      settle = resolve;
    });
    const { signature, answererOf, courses, path, requests } = this.#options;
    const times = { arrivalMs: nowMs, deadlineMs: deadlineMs - (path?.marginMs ?? 0) };
    const request = new PipelineRequest({ signature, answererOf, rows, bucket, ...times, settle });
    const course = courses.courseOf(request);
    requests.add(request, course);
    this.#arrive(request, course, nowMs);
    return { outcome, cancel: (why = "cancelled") => requests.fail(request, why, GIVEN_UP[why]) };
  }

  /**
   * Submits a query. If it is dropped, it fails its request, and the following queries are not
   * submitted.
   */
  handIn(query: PipelineQuery, parent: number, nowMs: number): void {
    const { slots, requests, dispatcher, carryOut } = this.#options;
    const { request, task } = query;
    if (request.isSettled) return;
    if (slots.freeCount === 0) {
      requests.fail(request, "queue-full", `${slots.usedCount} queries wait or run`);
      return;
    }
    const { deadlineMs } = request;
    query.sinceMs = nowMs;
    const slot = slots.take(query);
    carryOut(dispatcher.onQuery(slot, task, parent, deadlineMs, nowMs), nowMs);
  }

  /**
   * Every row is a request to the dispatcher, and counts as demand even if another row of the
   * client's request is refused.
   */
  #arrive(request: PipelineRequest, course: Course, nowMs: number): void {
    const { slots, requests, dispatcher, maxPending, startBatches } = this.#options;
    let isAdmitted = true;
    for (let row = 0; row < request.rows; row++) {
      isAdmitted = dispatcher.onRequest(nowMs) && isAdmitted;
    }
    if (!isAdmitted) {
      requests.fail(request, "shed", "the load is beyond the capacity of the pipeline");
      return;
    }
    const isFull = requests.pendingRows > maxPending;
    const queries = isFull ? [] : course.begin();
    if (typeof queries === "string") {
      requests.fail(request, "inference", queries);
      return;
    }
    if (isFull || queries.length > slots.freeCount) {
      requests.fail(request, "queue-full", `${slots.usedCount} queries wait or run`);
      return;
    }
    request.expect(queries.length);
    for (const query of queries) this.handIn(query, NO_PARENT, nowMs);
    startBatches(nowMs);
    // It is possible that no row takes an entry edge.
    requests.answerIfDone(request, course, nowMs);
  }
}
