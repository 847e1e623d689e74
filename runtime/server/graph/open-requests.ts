/** The requests of a pipeline that have no answer yet, and how each of them ends. */
import { DROP_LATE, DROP_NO_WORKER } from "../../core/command-buffer.ts";
import type { PathTimes } from "../../core/decision-slo.ts";
import type { FailureReason } from "../requests/request.ts";
import type { PipelineObserver } from "./pipeline-observer.ts";
import type { QuerySlots } from "./query-slots.ts";
import type { RecordedDispatcher } from "./recorded-dispatcher.ts";
import type { Course } from "./requests/course.ts";
import type { PipelineRequest } from "./requests/pipeline-request.ts";
import { at, type PipelineSignature } from "./signature/pipeline-signature.ts";

interface OpenRequestsOptions {
  readonly signature: PipelineSignature;
  readonly slots: QuerySlots;
  readonly dispatcher: Pick<RecordedDispatcher, "onCancel">;
  readonly observer: PipelineObserver;
  /** Times of the request path that deadlines include; undefined for none. */
  readonly path: PathTimes | undefined;
}

/** Failures that are the pipeline's decision. */
const DROPPED: ReadonlySet<FailureReason> = new Set([
  "shed",
  "queue-full",
  "late",
  "timeout",
  "no-worker",
]);

export class OpenRequests {
  readonly #options: OpenRequestsOptions;
  readonly #courseByRequest = new Map<PipelineRequest, Course>();
  #pendingRows = 0;

  constructor(options: OpenRequestsOptions) {
    this.#options = options;
  }

  get pendingRows(): number {
    return this.#pendingRows;
  }

  /** @param course what follows each of its queries. */
  add(request: PipelineRequest, course: Course): void {
    this.#courseByRequest.set(request, course);
    this.#pendingRows += request.rows;
  }

  /** Undefined for one that has its end. */
  courseOf(request: PipelineRequest): Course | undefined {
    return this.#courseByRequest.get(request);
  }

  /** Answers the request if none of its queries waits or runs. */
  answerIfDone(request: PipelineRequest, course: Course, nowMs: number): void {
    if (request.isSettled) return;
    request.answerIfDone(course, nowMs);
    if (!request.isSettled) return;
    const { observer, path } = this.#options;
    const { rows, accuracy, deadlineMs } = request;
    const lateMs = deadlineMs + (path?.graceMs ?? 0);
    observer.onRowsDone(nowMs > lateMs ? "late" : "satisfied", rows, accuracy);
    this.#takeBack(request);
  }

  /** The dispatcher has given up a query. @param reason as in the command buffer. */
  drop(slot: number, reason: number): void {
    const { slots, observer, signature } = this.#options;
    const { request, task, losses, lossMessage } = slots.free(slot);
    if (reason === DROP_NO_WORKER && losses > 0) {
      // After this loss no worker is left for a retry of a batch that may have ended its worker.
      this.fail(request, "worker-lost", lossMessage);
      return;
    }
    observer.onQueryDropped(task, reason);
    const { name } = at(signature.tasks, task);
    if (reason === DROP_NO_WORKER) this.fail(request, "no-worker", `${name}: no worker is ready`);
    else if (reason === DROP_LATE)
      this.fail(request, "late", `${name}: its deadline can no longer be met`);
    else this.fail(request, "queue-full", `${name}: the queue is full`);
  }

  failAll(reason: FailureReason, message: string): void {
    for (const request of [...this.#courseByRequest.keys()]) this.fail(request, reason, message);
  }

  /** Nothing, where it has its end already. */
  fail(request: PipelineRequest, reason: FailureReason, message: string): void {
    if (request.isSettled) return;
    request.fail(reason, message);
    if (DROPPED.has(reason)) this.#options.observer.onRowsDone("dropped", request.rows);
    this.#takeBack(request);
  }

  /**
   * Removes the queries of a settled request that still wait; those that run keep their slots until
   * the batch is over.
   */
  #takeBack(request: PipelineRequest): void {
    const { slots, dispatcher } = this.#options;
    this.#courseByRequest.get(request)?.end();
    this.#courseByRequest.delete(request);
    this.#pendingRows -= request.rows;
    for (const query of [...request.slots]) {
      if (dispatcher.onCancel(query)) slots.free(query);
    }
  }
}
