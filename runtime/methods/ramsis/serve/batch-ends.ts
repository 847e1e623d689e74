/** What becomes of the rows of a batch that is over: an answer, a failure, or another try. */
import type { PathTimes } from "../../../core/decision-slo.ts";
import { mayTryAgain } from "../../../core/second-try.ts";
import { ANY_VARIANT } from "../../../core/wanted-variant.ts";
import type { BatchResult, RowsRefusedError } from "../../../exec/models/executor.ts";
import { lostRun } from "../../../server/requests/batch-run.ts";
import {
  type PendingRequest,
  type RowedOutput,
  rowedOutput,
} from "../../../server/requests/request.ts";
import type { ModelSignature } from "../../../server/tensors/signature.ts";
import type { OpenRequests } from "./open-requests.ts";
import type { RecordedDispatcher, TableCommand } from "./recorded-dispatcher.ts";
import type { RowSlots } from "./row-slots.ts";
import type { RunningBatch } from "./running-batch.ts";
import type { SchedulerObserver } from "./scheduler-observer.ts";

interface BatchEndsOptions {
  readonly signature: ModelSignature;
  readonly slots: RowSlots;
  readonly requests: OpenRequests;
  readonly dispatcher: Pick<RecordedDispatcher, "onRetry">;
  readonly observer: SchedulerObserver | undefined;
  /** What the way of requests has of their deadlines. */
  readonly path: PathTimes;
  readonly nowMs: () => number;
  /** Does what the dispatcher says. */
  readonly carryOut: (commands: readonly TableCommand[], nowMs: number) => void;
}

export class BatchEnds {
  readonly #options: BatchEndsOptions;

  constructor(options: BatchEndsOptions) {
    this.#options = options;
  }

  /** Gives the rows of a result to their requests. */
  answer(batch: RunningBatch, result: BatchResult, nowMs: number): void {
    const { signature, slots, requests, observer, path } = this.#options;
    const order = signature.variants[batch.variant]?.outputOrder ?? [];
    const outputs: RowedOutput[] = [];
    for (const [output, index] of order.entries()) {
      const own = result.outputs[index];
      const rowed = own === undefined ? undefined : rowedOutput(signature, output, own, batch.rows);
      if (rowed === undefined) {
        this.fail(batch, `the model's output is not one of ${batch.rows} rows`);
        return;
      }
      outputs.push(rowed);
    }
    for (const [index, query] of batch.queries.entries()) {
      const { request, row } = slots.free(query);
      if (request.isSettled) continue;
      const isLate = nowMs > request.deadlineMs + path.graceMs;
      observer?.onQueryAnswered(isLate, request.sloClass, batch.variant);
      request.takeRow(row, outputs, index, nowMs, batch);
      if (request.isSettled) requests.takeBack(request);
    }
  }

  /** Fails the requests of rows that are at fault; the others of the batch wait again. */
  refuseRows({ queries, variant }: RunningBatch, { rows, message }: RowsRefusedError): void {
    const { slots, requests } = this.#options;
    const nowMs = this.#options.nowMs();
    for (const place of rows) {
      const query = queries[place];
      if (query === undefined) continue;
      const { request, row } = slots.free(query);
      const where = request.rows > 1 ? ` (row ${row} of the request)` : "";
      requests.fail(request, "refused", message + where);
    }
    for (const [place, query] of queries.entries()) {
      if (rows.includes(place)) continue;
      const { request } = slots.row(query);
      if (request.isSettled) slots.free(query);
      else this.#retry(query, request, variant, nowMs);
    }
  }

  /** The model could not run it, or its answer is none. */
  fail(batch: RunningBatch, message: string): void {
    const { slots, requests } = this.#options;
    for (const query of batch.queries) {
      requests.fail(slots.free(query).request, "inference", message);
    }
  }

  /** What may be tried again waits again; the others fail. */
  lose(batch: RunningBatch, message: string): void {
    const { queries, variant } = batch;
    const { slots, requests, observer } = this.#options;
    const nowMs = this.#options.nowMs();
    const lost = lostRun(batch, nowMs);
    for (const query of queries) {
      const row = slots.row(query);
      const { request } = row;
      row.losses++;
      row.lossMessage = message;
      request.noteLost(lost);
      if (!request.isSettled && mayTryAgain(row.losses, request.deadlineMs, nowMs)) {
        observer?.onQueryRetried();
        this.#retry(query, request, variant, nowMs);
      } else requests.fail(slots.free(query).request, "worker-lost", message);
    }
  }

  #retry(
    query: number,
    { deadlineMs, sloClass, variant }: PendingRequest,
    ran: number,
    nowMs: number,
  ): void {
    const { dispatcher, carryOut } = this.#options;
    // Rows that one variant is to answer have one by now.
    const wanted = variant === "same" ? ran : (variant ?? ANY_VARIANT);
    carryOut(dispatcher.onRetry(query, deadlineMs, wanted, nowMs, sloClass), nowMs);
  }
}
