/**
 * Processes the queries of finished batches: forwards them to the next tasks and to their requests,
 * fails them, or retries them.
 */
import { mayTryAgain } from "../../core/second-try.ts";
import type { BatchResult, RowsRefusedError } from "../../exec/models/executor.ts";
import { type BatchRun, lostRun } from "../requests/request.ts";
import type { OpenRequests } from "./open-requests.ts";
import type { PipelineObserver } from "./pipeline-observer.ts";
import type { PipelineCommand } from "./pipeline-recording.ts";
import type { QuerySlots } from "./query-slots.ts";
import type { RecordedDispatcher } from "./recorded-dispatcher.ts";
import { type CutOutput, cutOutputs, misfit } from "./requests/batch-tensors.ts";
import { type Courses, NO_ROOM } from "./requests/course.ts";
import type { PipelineQuery } from "./requests/pipeline-request.ts";
import { partsOf } from "./requests/row-sizes.ts";
import type { RunningBatch } from "./running-batch.ts";
import { at, type PipelineSignature } from "./signature/pipeline-signature.ts";

interface BatchEndsOptions {
  readonly signature: PipelineSignature;
  readonly slots: QuerySlots;
  readonly requests: OpenRequests;
  readonly courses: Courses;
  readonly dispatcher: Pick<RecordedDispatcher, "onFanout" | "onRetry">;
  readonly observer: PipelineObserver;
  readonly nowMs: () => number;
  /** Submits a query that follows from a batch to the dispatcher. @param parent its slot. */
  readonly handIn: (query: PipelineQuery, parent: number, nowMs: number) => void;
  /** Executes commands of the dispatcher. */
  readonly carryOut: (commands: readonly PipelineCommand[], nowMs: number) => void;
  /** Once all queries of an event are handed in. */
  readonly startBatches: (nowMs: number) => void;
}

export class BatchEnds {
  readonly #options: BatchEndsOptions;

  constructor(options: BatchEndsOptions) {
    this.#options = options;
  }

  /** Gives the rows of a result to their requests, and to the tasks behind. */
  answer(batch: RunningBatch, result: BatchResult, nowMs: number): void {
    const { signature, slots } = this.#options;
    const variant = at(signature.variants, batch.variant);
    const task = at(signature.tasks, variant.task);
    const cuts: (readonly CutOutput[])[] = [];
    const parts = partsOf(result, batch.rows);
    for (const part of parts) {
      const cut = cutOutputs(task, variant, part.result, part.rows.length);
      const problem = typeof cut === "string" ? cut : misfit(signature, task, cut);
      if (typeof cut === "string" || problem !== undefined) {
        this.fail(batch, `${task.name}/${variant.name}: ${problem}`);
        return;
      }
      cuts.push(cut);
    }
    for (const slot of batch.queries) slots.retire(slot);
    for (const [index, { rows }] of parts.entries()) {
      const cut = at(cuts, index);
      for (const [row, place] of rows.entries()) {
        this.#handOn(at(batch.queries, place), row, cut, batch);
      }
    }
    // Slots are free once all following queries are known.
    for (const slot of batch.queries) slots.free(slot);
    this.#options.startBatches(nowMs);
  }

  /** Gives a query that is done back to its request, and what follows it to the dispatcher. */
  #handOn(slot: number, row: number, cut: readonly CutOutput[], batch: BatchRun): void {
    const { requests, slots, courses, handIn } = this.#options;
    const nowMs = batch.endMs;
    const query = slots.query(slot);
    const { request } = query;
    const sent = courses.sentOf(query.task, cut, row);
    if (typeof sent === "string") {
      this.#failQuery(query, sent);
      return;
    }
    this.#tellFanouts(query, slot, sent);
    const course = requests.courseOf(request);
    if (course === undefined) return;
    const isLast = sent.every((count) => count === 0);
    const parts = cut.map((output) => output.part(row));
    request.take(query, parts, isLast, batch);
    const next = course.follow(query, sent, cut, row);
    if (next === NO_ROOM) {
      const message = "queue full: the maximum number of rows that tasks have made is in progress";
      requests.fail(request, "queue-full", message);
      return;
    }
    if (typeof next === "string") {
      requests.fail(request, "inference", next);
      return;
    }
    request.expect(next.length);
    for (const one of next) handIn(one, slot, nowMs);
    requests.answerIfDone(request, course, nowMs);
  }

  /** Fails a query whose outputs do not say how many queries follow. */
  #failQuery({ request, task, variant: index }: PipelineQuery, problem: string): void {
    const { signature, requests } = this.#options;
    const variant = at(signature.variants, index);
    const where = `${at(signature.tasks, task).name}/${variant.name}`;
    requests.fail(request, "inference", `${where}: ${problem}`);
  }

  #tellFanouts({ task, variant }: PipelineQuery, slot: number, sent: readonly number[]): void {
    const { signature, observer, dispatcher } = this.#options;
    for (const [index, { child }] of at(signature.tasks, task).edgesAway.entries()) {
      observer.onFanout(variant, child, at(sent, index));
      dispatcher.onFanout(slot, child, at(sent, index));
    }
  }

  /** Fails the requests of rows that are at fault; the others of the batch wait again. */
  refuseRows({ queries }: RunningBatch, { rows, message, isRefusal }: RowsRefusedError): void {
    const { slots, requests } = this.#options;
    const nowMs = this.#options.nowMs();
    for (const row of rows) {
      const slot = queries[row];
      if (slot !== undefined)
        requests.fail(slots.free(slot).request, isRefusal ? "refused" : "inference", message);
    }
    for (const [row, slot] of queries.entries()) {
      if (rows.includes(row)) continue;
      const { request, task } = slots.query(slot);
      if (request.isSettled) slots.free(slot);
      else this.#retry(slot, task, nowMs);
    }
    this.#options.startBatches(nowMs);
  }

  /** Called when the model failed, or its answer is invalid. */
  fail({ queries }: RunningBatch, message: string): void {
    const { slots, requests } = this.#options;
    for (const slot of queries) requests.fail(slots.free(slot).request, "inference", message);
  }

  /** Retries the queries that may be retried, and fails the others. */
  lose(batch: RunningBatch, message: string): void {
    const { slots, requests, observer } = this.#options;
    const nowMs = this.#options.nowMs();
    const lost = lostRun(batch, nowMs);
    for (const slot of batch.queries) {
      const query = slots.query(slot);
      const { request, task } = query;
      query.losses++;
      query.lossMessage = message;
      request.noteRun(query, lost);
      if (!request.isSettled && mayTryAgain(query.losses, request.deadlineMs, nowMs)) {
        observer.onQueryRetried();
        query.sinceMs = nowMs;
        this.#retry(slot, task, nowMs);
      } else requests.fail(slots.free(slot).request, "worker-lost", message);
    }
    this.#options.startBatches(nowMs);
  }

  /** A query waits again. */
  #retry(slot: number, task: number, nowMs: number): void {
    const { dispatcher, carryOut } = this.#options;
    carryOut(dispatcher.onRetry(slot, task, nowMs), nowMs);
  }
}
