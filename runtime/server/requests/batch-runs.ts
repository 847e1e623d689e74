/** A batch from its start to its end: handed to its worker, computed, answered, refused or lost. */
import { assert } from "../../core/assert.ts";
import {
  type BatchResult,
  type OnComputed,
  RowsRefusedError,
  WorkerLostError,
} from "../../exec/models/executor.ts";
import type { ServiceTimes } from "../measures/service-times.ts";
import type { BatchRun, BatchTimes } from "./request.ts";

/** A batch that a worker has. */
export interface OpenBatch extends BatchRun {
  readonly variant: number;
  /** The dispatcher's names for its rows. */
  readonly queries: readonly number[];
  /** When its worker had it. */
  handedMs: number;
  /**
   * Distinguishes batches of one size with different profiles, such as by bucket or place; or 0.
   * Negative for rows of sizes that no profile is of.
   */
  kind: number;
  /** Workers that computed, its own included, when it started, or when it was over if more. */
  busyWorkers: number;
}

/** Scheduler that decides which batches run, and knows the owners of their rows. */
export interface BatchOwner<Batch> {
  /**
   * Called when the worker is idle: the next batch is handed to it before anything else happens.
   * @param ranMs time of the batch as in profiles, including the typical transfer to the worker and
   * back; undefined where it is unknown, and for the first batch after a start or a load, which
   * profiles do not cover.
   */
  onIdle(worker: number, nowMs: number, ranMs: number | undefined): void;
  /** Called when a worker is idle before its answer arrives, after `onIdle`. */
  onComputed?(nowMs: number): void;
  onResult(batch: Batch, result: BatchResult, nowMs: number): void;
  /** After `onResult`, with what each part of it took. */
  onDone(batch: Batch, times: BatchTimes): void;
  /** Some rows are at fault. */
  onRowsRefused(batch: Batch, error: RowsRefusedError): void;
  onFailed(batch: Batch, message: string): void;
  /** Called when its worker was lost. */
  onLost(batch: Batch, message: string): void;
}

export interface BatchRunsOptions<Batch> {
  readonly workerCount: number;
  readonly owner: BatchOwner<Batch>;
  /** Monotonic. */
  readonly nowMs: () => number;
  /** Receives the times of batches; undefined for no measurement. */
  readonly times: ServiceTimes | undefined;
}

/** Time limit of a batch on its worker, which may be slower than profiled. */
export function pacedMs(
  profiledMs: number | undefined,
  { pace = 1 }: Pick<BatchRun, "pace">,
): number | undefined {
  return profiledMs === undefined ? undefined : profiledMs * Math.max(1, pace);
}

/** The batches that have no answer yet. */
export class BatchRuns<Batch extends OpenBatch> {
  readonly #batches: WorkerBatches<Batch>;
  readonly #owner: BatchOwner<Batch>;
  readonly #nowMs: () => number;
  readonly #times: ServiceTimes | undefined;
  /** Workers whose next batch is the first after a start or a load. */
  readonly #isFresh = new Set<number>();
  readonly #ways = new WayTimes();

  constructor({ workerCount, owner, nowMs, times }: BatchRunsOptions<Batch>) {
    this.#batches = new WorkerBatches(workerCount);
    this.#owner = owner;
    this.#nowMs = nowMs;
    this.#times = times;
  }

  isBusy(worker: number): boolean {
    return this.#batches.isBusy(worker);
  }

  /** False where its worker was lost between the command to start it and the start. */
  isComputing(batch: Batch): boolean {
    return this.#batches.isComputing(batch);
  }

  /** The worker has started, or loaded a model: its next batch may take longer than others. */
  onFresh(worker: number): void {
    this.#isFresh.add(worker);
  }

  /** Occupies its worker. */
  start(batch: Batch): void {
    this.#batches.start(batch);
  }

  /** @param run has the executor run it, and calls back once the worker is free. */
  hand(batch: Batch, run: (onComputed: OnComputed) => Promise<BatchResult>): void {
    batch.busyWorkers = this.#batches.busyCount;
    // Async, so that an executor that throws synchronously also rejects.
    const handed = async () => run((ranMs) => this.#onComputed(batch, ranMs));
    handed().then(
      (result) => this.#onResult(batch, result),
      (error: unknown) => this.#onRefused(batch, error),
    );
    batch.handedMs = this.#nowMs();
  }

  /** Takes all batches from a worker that was lost, the oldest first. */
  takeAll(worker: number): readonly Batch[] {
    return this.#batches.endAll(worker);
  }

  /**
   * Called when the worker is free and the answer is on its way. The next batch is decided now, so
   * that the worker has it when it has written this answer.
   */
  #onComputed(batch: Batch, ranMs: number | undefined): void {
    if (!this.#batches.isComputing(batch)) return;
    this.#noteBusy(batch);
    this.#batches.onComputed(batch);
    const nowMs = this.#nowMs();
    this.#owner.onIdle(batch.worker, nowMs, this.#measured(batch, ranMs, nowMs));
    this.#owner.onComputed?.(nowMs);
  }

  #onResult(batch: Batch, result: BatchResult): void {
    if (!this.#batches.isOpen(batch)) return;
    if (this.#batches.isComputing(batch)) this.#noteBusy(batch);
    const doneMs = this.#release(batch, result.wallMs);
    batch.endMs = doneMs;
    batch.wallMs = result.wallMs;
    const cutMs = this.#nowMs();
    this.#owner.onResult(batch, result, doneMs);
    const { startMs, handedMs } = batch;
    const outputMs = this.#nowMs() - cutMs;
    this.#owner.onDone(batch, {
      inputMs: handedMs - startMs,
      inferMs: doneMs - handedMs,
      outputMs,
    });
    this.#reportTimes(batch, doneMs);
  }

  #onRefused(batch: Batch, error: unknown): void {
    if (!this.#batches.isOpen(batch)) return;
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof WorkerLostError) {
      // If the batch's answer was on its way, the executor reports the loss next: here the
      // dispatcher would retry it on this worker, which it takes for idle.
      if (!this.#batches.isComputing(batch)) return;
      // The worker stays busy for the dispatcher until the executor reports its loss, which also
      // counts it.
      this.#batches.replace(batch.worker, { ...batch, queries: [] });
      this.#owner.onLost(batch, message);
      return;
    }
    this.#release(batch, undefined);
    if (error instanceof RowsRefusedError) this.#owner.onRowsRefused(batch, error);
    else this.#owner.onFailed(batch, message);
  }

  /**
   * Frees the worker in the dispatcher first, so that it has its next batch before answers are
   * written.
   */
  #release(batch: Batch, ranMs: number | undefined): number {
    const nowMs = this.#nowMs();
    const { worker } = batch;
    if (!this.#batches.endAnswer(batch)) {
      this.#batches.replace(worker, undefined);
      this.#owner.onIdle(worker, nowMs, this.#measured(batch, ranMs, nowMs));
    }
    return nowMs;
  }

  /** Rounded to microseconds, which is what logs have. @param insideMs time in the worker. */
  #measured(batch: Batch, insideMs: number | undefined, nowMs: number): number | undefined {
    if (insideMs === undefined || !(insideMs >= 0)) return undefined;
    const { variant, rows, handedMs } = batch;
    const wayMs = this.#ways.add(variant, rows, Math.max(0, nowMs - handedMs - insideMs));
    if (this.#isFresh.delete(batch.worker)) return undefined;
    return Math.round((insideMs + wayMs) * 1000) / 1000;
  }

  #noteBusy(batch: Batch): void {
    batch.busyWorkers = Math.max(batch.busyWorkers, this.#batches.busyCount);
  }

  #reportTimes(batch: Batch, endMs: number): void {
    const { variant, rows, kind, busyWorkers, wallMs: insideMs, handedMs } = batch;
    if (kind < 0) return;
    const aroundMs = endMs - handedMs;
    this.#times?.onBatch({ variant, rows, kind, aroundMs, insideMs, endMs, busyWorkers });
  }
}

/**
 * Number of transfers of which the shortest counts: the others may have waited for a busy server.
 */
const GROUP = 16;
/** Weight of a group in the average, after the first. */
const WEIGHT = 0.25;

interface Cell {
  /** Average over whole groups. */
  meanMs: number;
  groups: number;
  /** Shortest transfer of the current group, and the number of transfers in it. */
  leastMs: number;
  count: number;
}

/**
 * Typical transfer times of a variant's batches, by powers of two of their rows. Profiles include
 * the transfer, so measured times must include it too. A server that lacks processor time makes all
 * transfers longer.
 */
export class WayTimes {
  readonly #cells = new Map<number, Cell>();

  /**
   * Adds the transfer time of a batch.
   * @returns the typical time of such batches, ms; 0 before the first group is full, since the
   * first batches of a worker take longer.
   */
  add(variant: number, rows: number, wayMs: number): number {
    const cell = this.#cellOf(64 * variant + Math.ceil(Math.log2(Math.max(1, rows))));
    cell.leastMs = Math.min(cell.leastMs, wayMs);
    cell.count++;
    if (cell.count < GROUP) return cell.meanMs;
    cell.meanMs += (cell.groups === 0 ? 1 : WEIGHT) * (cell.leastMs - cell.meanMs);
    cell.groups++;
    cell.leastMs = Number.POSITIVE_INFINITY;
    cell.count = 0;
    return cell.meanMs;
  }

  #cellOf(key: number): Cell {
    const found = this.#cells.get(key);
    if (found !== undefined) return found;
    const cell = { meanMs: 0, groups: 0, leastMs: Number.POSITIVE_INFINITY, count: 0 };
    this.#cells.set(key, cell);
    return cell;
  }
}

/**
 * Batches of each worker. A worker computes one batch at a time, and is busy for the dispatcher
 * meanwhile. Answers of earlier batches may be on their way: the worker sends one at a time, but a
 * scheduler may hear of the next batch before the answer that came with it.
 */
class WorkerBatches<Batch extends { readonly worker: number }> {
  readonly #computing: (Batch | undefined)[];
  readonly #answering: readonly Set<Batch>[];

  constructor(workerCount: number) {
    this.#computing = new Array<Batch | undefined>(workerCount).fill(undefined);
    this.#answering = this.#computing.map(() => new Set<Batch>());
  }

  /** Workers that compute a batch. */
  get busyCount(): number {
    let count = 0;
    for (const batch of this.#computing) if (batch !== undefined) count++;
    return count;
  }

  isBusy(worker: number): boolean {
    return this.#computing[worker] !== undefined;
  }

  isComputing(batch: Batch): boolean {
    return this.#computing[batch.worker] === batch;
  }

  /** Whether it has no answer yet, and its worker has not been lost. */
  isOpen(batch: Batch): boolean {
    return this.isComputing(batch) || this.#answering[batch.worker]?.has(batch) === true;
  }

  start(batch: Batch): void {
    assert(this.#computing[batch.worker] === undefined, "a worker computes one batch at a time");
    this.#computing[batch.worker] = batch;
  }

  /** Frees its worker; its answer is on its way. */
  onComputed(batch: Batch): void {
    assert(this.isComputing(batch), "a batch that is computed was being computed");
    this.#computing[batch.worker] = undefined;
    this.#answering[batch.worker]?.add(batch);
  }

  /** Replaces the batch that occupies the worker. */
  replace(worker: number, batch: Batch | undefined): void {
    this.#computing[worker] = batch;
  }

  /**
   * Called when its answer arrived, or cannot arrive any more. @returns whether it was on its way.
   */
  endAnswer(batch: Batch): boolean {
    return this.#answering[batch.worker]?.delete(batch) === true;
  }

  /** All batches of a worker, the oldest first: it was lost. */
  endAll(worker: number): readonly Batch[] {
    const batches = [...(this.#answering[worker] ?? [])];
    const computing = this.#computing[worker];
    if (computing !== undefined) batches.push(computing);
    this.#answering[worker]?.clear();
    this.#computing[worker] = undefined;
    return batches;
  }
}
