/** Batches of rows: their inputs, their start, and the outcome of their rows. */
import type { PathTimes } from "../../../core/decision-slo.ts";
import type { PaceMonitor } from "../../../core/pace.ts";
import { mayTryAgain } from "../../../core/second-try.ts";
import { ANY_VARIANT } from "../../../core/wanted-variant.ts";
import type { BatchResult, RowsRefusedError } from "../../../exec/models/executor.ts";
import type { OpenBatch } from "../../../server/requests/batch-runs.ts";
import {
  lostRun,
  type PendingRequest,
  paceFields,
  type RowedOutput,
  rowedOutput,
} from "../../../server/requests/request.ts";
import type { ModelSignature } from "../../../server/tensors/signature.ts";
import type {
  BatchStart,
  OpenRequests,
  Row,
  RowSlots,
  SchedulerObserver,
} from "./open-requests.ts";
import type { RecordedDispatcher, StartCommand, TableCommand } from "./recorded-dispatcher.ts";

export interface RunningBatch extends BatchStart, OpenBatch {
  /** Latest deadline of its rows. */
  readonly deadlineMs: number;
}

/**
 * Its rows are of that variant from now on, and their requests have begun.
 * @param rows of its queries, in their order. @param monitor of the workers' pace.
 */
export function startedBatch(
  { worker, variant, level, queued, queries }: StartCommand,
  rows: readonly Row[],
  variantName: string,
  nowMs: number,
  monitor?: PaceMonitor,
): RunningBatch {
  let earliestMs = Number.POSITIVE_INFINITY;
  let latestMs = Number.NEGATIVE_INFINITY;
  for (const { request, row } of rows) {
    request.variantByRow[row] = variant;
    if (!(request.startMs <= nowMs)) request.startMs = nowMs;
    earliestMs = Math.min(earliestMs, request.deadlineMs);
    latestMs = Math.max(latestMs, request.deadlineMs);
  }
  return {
    worker,
    variant,
    variantName,
    level,
    rows: queries.length,
    queued,
    slackMs: earliestMs - nowMs,
    deadlineMs: latestMs,
    ...paceFields(worker, monitor),
    queries,
    startMs: nowMs,
    handedMs: nowMs,
    kind: 0,
    busyWorkers: 0,
    endMs: Number.NaN,
    wallMs: Number.NaN,
  };
}

/**
 * Returns, per input of the variant, the bytes of the rows; consecutive rows of one request are one
 * part.
 * @param inputOrder index, for each input of the variant, among those of the request.
 */
export function inputParts(rows: readonly Row[], inputOrder: readonly number[]): Uint8Array[][] {
  const parts: Uint8Array[][] = inputOrder.map(() => []);
  for (let first = 0; first < rows.length; ) {
    const { request, row } = rows[first] as Row;
    let count = 1;
    while (rows[first + count]?.request === request && rows[first + count]?.row === row + count) {
      count++;
    }
    for (const [position, input] of inputOrder.entries()) {
      const bounds = request.inputBounds[input] ?? [];
      const bytes = request.inputs[input]?.subarray(bounds[row], bounds[row + count]);
      if (bytes !== undefined) parts[position]?.push(bytes);
    }
    first += count;
  }
  return parts;
}

interface BatchEndsOptions {
  readonly signature: ModelSignature;
  readonly slots: RowSlots;
  readonly requests: OpenRequests;
  readonly dispatcher: Pick<RecordedDispatcher, "onRetry">;
  readonly observer: SchedulerObserver | undefined;
  /** Parts of the deadline that the path of requests takes. */
  readonly path: PathTimes;
  readonly nowMs: () => number;
  /** Carries out the dispatcher's commands. */
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
  refuseRows(
    { queries, variant }: RunningBatch,
    { rows, message, isRefusal }: RowsRefusedError,
  ): void {
    const { slots, requests } = this.#options;
    const nowMs = this.#options.nowMs();
    for (const place of rows) {
      const query = queries[place];
      if (query === undefined) continue;
      const { request, row } = slots.free(query);
      const where = request.rows > 1 ? ` (row ${row} of the request)` : "";
      requests.fail(request, isRefusal ? "refused" : "inference", message + where);
    }
    for (const [place, query] of queries.entries()) {
      if (rows.includes(place)) continue;
      const { request } = slots.row(query);
      if (request.isSettled) slots.free(query);
      else this.#retry(query, request, variant, nowMs);
    }
  }

  /** Fails a batch that the model could not run, or whose answer is invalid. */
  fail(batch: RunningBatch, message: string): void {
    const { slots, requests } = this.#options;
    for (const query of batch.queries) {
      requests.fail(slots.free(query).request, "inference", message);
    }
  }

  /** Queues again the queries of a lost batch that may be retried, and fails the others. */
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
