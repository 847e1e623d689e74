/**
 * Executor that keeps batches from workers that fail them: a failed batch runs once more on another
 * worker, and a worker that fails batches which others run is taken out and replaced.
 */

import { assert } from "../../core/assert.ts";
import { WorkerTrust } from "../../core/worker-trust.ts";
import {
  type AssignedExecutorHandlers,
  type Batch,
  type BatchResult,
  type ExecutorHandlers,
  InferenceError,
  type OnComputed,
  RowsRefusedError,
  type VariantModel,
  WorkerLostError,
} from "../models/executor.ts";
import type { LossCause } from "../models/scaler.ts";
import { rowsOfBatch } from "../tensors/batch-rows.ts";
import { zerosOf } from "../tensors/host-tensors.ts";
import type { AssignedProcessExecutor, AssignedProcessHandlers } from "./assigned-pool.ts";
import type { ProcessExecutor, ProcessExecutorHandlers } from "./worker-pool.ts";

export interface GuardOptions {
  readonly variants: readonly VariantModel[];
  readonly workerCount: number;
  /** Pool index of each worker slot. */
  readonly poolBySlot: readonly number[];
  /** Clock of the batches' deadlines. */
  readonly nowMs: () => number;
  /** Receives messages for the operator. */
  readonly onNotice: (message: string) => void;
}

/** Time between notices of batches that fail on every worker. */
const NOTICE_MS = 60_000;

/** A worker slot. */
interface Seat {
  /** Whether the dispatcher counts it as ready. */
  isUp: boolean;
  /** Whether it gets no batch until its next worker is ready. */
  isOut: boolean;
  /** How long its next worker waits before it counts as ready, ms. */
  waitMs: number;
  timer: NodeJS.Timeout | undefined;
  /** Last batch given to its worker, settled once the worker is done with it. */
  last: Promise<unknown>;
  /** Batch of another slot that runs here, or waits to; null if none does. */
  guest: Promise<unknown> | null;
  /** Assigned variants that its worker holds; null where each worker holds all of its pool. */
  held: readonly number[] | null;
  /** Variants of its last assignment. */
  assigned: readonly number[];
}

/**
 * Starts an executor whose workers hold all variants of their pools, with a guard.
 * @param start starts the executor with the handlers that it is given.
 */
export async function startGuarded(
  options: GuardOptions,
  handlers: ProcessExecutorHandlers,
  start: (handlers: ProcessExecutorHandlers) => Promise<ProcessExecutor>,
): Promise<ProcessExecutor> {
  const guard = new GuardedExecutor<ProcessExecutor>(options);
  guard.inner = await start(guard.handlersFor(handlers));
  return guard;
}

/** Variant of `startGuarded` for workers with assigned models. */
export async function startGuardedAssigned(
  options: GuardOptions,
  handlers: AssignedProcessHandlers,
  start: (handlers: AssignedProcessHandlers) => Promise<AssignedProcessExecutor>,
): Promise<AssignedProcessExecutor> {
  const guard = new GuardedAssigned(options);
  guard.inner = await start({ ...handlers, ...guard.assignedHandlers(handlers) });
  return guard;
}

class GuardedExecutor<E extends ProcessExecutor> implements ProcessExecutor {
  protected readonly seats: readonly Seat[];
  readonly #options: GuardOptions;
  readonly #trust: WorkerTrust;
  #inner: E | undefined;
  #onRetried: ExecutorHandlers["onRetried"];
  #isClosed = false;
  /** One row of each variant that ran, to try workers with; null if it cannot be kept. */
  readonly #samples: (Batch | null | undefined)[] = [];
  /** When the operator was last notified of batches that fail everywhere. */
  #noticeMs = Number.NEGATIVE_INFINITY;

  constructor(options: GuardOptions) {
    this.#options = options;
    this.#trust = new WorkerTrust(options.workerCount);
    this.seats = Array.from({ length: options.workerCount }, () => ({
      ...{ isUp: false, isOut: false, waitMs: 0, timer: undefined },
      ...{ last: Promise.resolve(), guest: null, held: null, assigned: [] },
    }));
  }

  get inner(): E {
    assert(this.#inner !== undefined, "a guard has an executor once that has started");
    return this.#inner;
  }

  set inner(inner: E) {
    this.#inner = inner;
  }

  /** Returns handlers for the executor, which pass on what the dispatcher is to know. */
  handlersFor<H extends ExecutorHandlers>(handlers: H): H {
    const { onReady, onLost, onReplaced } = handlers;
    this.#onRetried = handlers.onRetried;
    const lost = (slot: number, reason: string, cause?: LossCause) => {
      this.#down(slot);
      onLost(slot, reason, cause);
    };
    const ready = (slot: number) => this.#upAfterWait(slot, onReady);
    if (onReplaced === undefined) return { ...handlers, onReady: ready, onLost: lost };
    return {
      ...handlers,
      onReady: ready,
      onLost: lost,
      onReplaced: (slot: number, reason: string, cause?: LossCause) => {
        const seat = this.seatAt(slot);
        if (seat.waitMs > 0 || !seat.isUp) {
          lost(slot, reason, cause);
          ready(slot);
          return;
        }
        seat.isOut = false;
        onReplaced(slot, reason, cause);
      },
    };
  }

  async run(slot: number, batch: Batch, onComputed?: OnComputed): Promise<BatchResult> {
    const seat = this.seatAt(slot);
    while (seat.guest !== null) await seat.guest;
    if (seat.isOut) return this.#runElsewhere(slot, batch);
    try {
      const running = this.inner.run(slot, batch, onComputed);
      seat.last = running;
      return this.#checked(slot, batch, await running);
    } catch (error) {
      if (error instanceof WorkerLostError && !seat.isOut) seat.waitMs = this.#onOut(slot, false);
      if (!(error instanceof InferenceError) || error instanceof RowsRefusedError) throw error;
      this.#trust.onFailed(slot);
      return this.#runAgain(slot, batch, error);
    }
  }

  recycle(slot: number, reason: string): void {
    this.inner.recycle(slot, reason);
  }

  pids() {
    return this.inner.pids();
  }

  close(): Promise<void> {
    this.#isClosed = true;
    for (const { timer } of this.seats) clearTimeout(timer);
    return this.inner.close();
  }

  protected seatAt(slot: number): Seat {
    const seat = this.seats[slot];
    assert(seat !== undefined, "a worker slot exists");
    return seat;
  }

  #down(slot: number): void {
    const seat = this.seatAt(slot);
    seat.isUp = false;
    clearTimeout(seat.timer);
  }

  #upAfterWait(slot: number, onReady: (slot: number) => void): void {
    const seat = this.seatAt(slot);
    const up = () => {
      seat.isUp = true;
      seat.isOut = false;
      onReady(slot);
    };
    clearTimeout(seat.timer);
    const { waitMs } = seat;
    seat.waitMs = 0;
    if (waitMs === 0) up();
    else seat.timer = setTimeout(up, waitMs).unref();
  }

  #onOut(slot: number, isTakenOut: boolean): number {
    return this.#trust.onOut(slot, this.#options.nowMs(), isTakenOut);
  }

  /** @throws InferenceError for a result that does not have the batch's rows. */
  #checked(slot: number, batch: Batch, result: BatchResult): BatchResult {
    const { variant, rows } = batch;
    const model = this.#options.variants[variant];
    const outputs = model?.outputsAreRows === false ? [] : result.outputs;
    for (const [index, { shape }] of outputs.entries()) {
      if (shape[0] === rows) continue;
      const [name, output] = [model?.name ?? "", model?.outputs[index]?.name ?? index];
      throw new InferenceError(name, `output "${output}": got ${shape[0]} rows for ${rows}`);
    }
    this.#trust.onAnswered(slot);
    if (this.#samples[variant] === undefined && model !== undefined) {
      this.#samples[variant] = sampleOf(model, batch);
    }
    return result;
  }

  /** Runs a failed batch on another worker, which shows whose fault the failure is. */
  async #runAgain(slot: number, batch: Batch, error: InferenceError): Promise<BatchResult> {
    const other = this.#anotherFor(slot, batch);
    if (other < 0) return this.#failAlike([slot, slot], batch, error);
    if (!this.#isInTime(batch)) throw error;
    this.#onRetried?.(slot, batch.rows);
    try {
      const result = await this.#runAsGuest(other, batch);
      if (this.#trust.onFault(slot, this.#options.nowMs())) {
        this.#takeOut(slot, `it fails batches that others run: ${error.message}`);
      }
      return result;
    } catch (second) {
      if (second instanceof RowsRefusedError) throw second;
      if (!(second instanceof InferenceError)) throw error;
      this.#trust.onFailed(other);
      return this.#failAlike([slot, other], batch, error);
    }
  }

  /** Runs a batch of a worker that is taken out. @throws WorkerLostError if no other can. */
  async #runElsewhere(slot: number, batch: Batch): Promise<BatchResult> {
    const other = this.#anotherFor(slot, batch);
    if (other < 0) throw new WorkerLostError(slot, "it is being replaced");
    return this.#runAsGuest(other, batch);
  }

  /**
   * Fails a batch that failed on every worker that tried it. @throws InferenceError; of several
   * rows RowsRefusedError that names those at fault.
   */
  async #failAlike(
    [slot, last]: readonly [slot: number, last: number],
    batch: Batch,
    error: InferenceError,
  ): Promise<never> {
    const { variants } = this.#options;
    if (this.#trust.isOnTrial(slot) && (await this.#isBroken(slot, batch))) {
      this.#takeOut(slot, `it fails an input that it can run: ${error.message}`);
      throw error;
    }
    this.#notify(error);
    const variant = variants[batch.variant];
    if (batch.rows === 1 && error.isRefusal) {
      throw new RowsRefusedError(variant?.name ?? "", error.reason, [0]);
    }
    if (batch.rows === 1 || variant === undefined) throw error;
    const bad = await this.#badRows(last, batch, variant, error);
    if (bad.length === batch.rows) throw error;
    throw new RowsRefusedError(variant.name, error.reason, bad, error.isRefusal);
  }

  /** Whether a worker fails an input of the same variant that ran before, or zeros. */
  async #isBroken(slot: number, { variant }: Batch): Promise<boolean> {
    const sample = this.#samples[variant] ?? this.#zerosFor(variant);
    if (sample === null) return false;
    try {
      await this.#runAsGuest(slot, sample);
      return false;
    } catch (error) {
      return error instanceof InferenceError;
    }
  }

  /** Returns a row of zeros, with which workers warm up; null if the variant may refuse it. */
  #zerosFor(variant: number): Batch | null {
    const model = this.#options.variants[variant];
    if (model === undefined || model.mayRefuseZeros === true || model.buckets !== undefined) {
      return null;
    }
    return { variant, rows: 1, inputs: model.inputs.map((info) => [zerosOf(info, 1)]) };
  }

  #notify({ message }: InferenceError): void {
    const nowMs = this.#options.nowMs();
    if (nowMs - this.#noticeMs < NOTICE_MS) return;
    this.#noticeMs = nowMs;
    this.#options.onNotice(
      `a batch fails on every worker, so its input or the model is at fault: ${message}`,
    );
  }

  /**
   * Finds the rows that a worker fails, by halves; those that are not known after twice the runs
   * that a single one takes count as failed.
   * @throws the batch's error if time runs out, or rows cannot run on their own.
   */
  async #badRows(
    slot: number,
    batch: Batch,
    variant: VariantModel,
    error: InferenceError,
  ): Promise<number[]> {
    let runs = 4 * Math.ceil(Math.log2(batch.rows));
    const bad: number[] = [];
    const look = async (first: number, count: number): Promise<void> => {
      const part = rowsOfBatch(variant, batch, first, count);
      if (part === null || !this.#isInTime(batch)) throw error;
      const rows = Array.from({ length: count }, (_, index) => first + index);
      if (runs === 0) {
        bad.push(...rows);
        return;
      }
      runs--;
      try {
        await this.#runAsGuest(slot, part);
      } catch (found) {
        if (!(found instanceof InferenceError)) throw error;
        if (found instanceof RowsRefusedError) bad.push(...found.rows.map((row) => first + row));
        else if (count === 1) bad.push(first);
        else {
          const half = count >> 1;
          await look(first, half);
          await look(first + half, count - half);
        }
      }
    };
    const half = batch.rows >> 1;
    await look(0, half);
    await look(half, batch.rows - half);
    return bad;
  }

  /** Runs a batch of another slot between the batches of this one. */
  #runAsGuest(slot: number, batch: Batch): Promise<BatchResult> {
    const seat = this.seatAt(slot);
    const before = [seat.guest, seat.last];
    const guest = (async () => {
      await Promise.allSettled(before);
      return this.#checked(slot, batch, await this.inner.run(slot, batch));
    })();
    const settled = guest.then(
      () => {},
      () => {},
    );
    seat.guest = settled;
    void settled.then(() => {
      if (seat.guest === settled) seat.guest = null;
    });
    return guest;
  }

  /**
   * Returns the worker that can run the batch and has failed least, preferably without a
   * guest; -1 if no other can.
   */
  #anotherFor(slot: number, { variant }: Batch): number {
    const { variants, poolBySlot } = this.#options;
    const pools = variants[variant]?.pools;
    let found = -1;
    let least = Number.POSITIVE_INFINITY;
    for (const [other, { isUp, isOut, guest, held }] of this.seats.entries()) {
      if (other === slot || !isUp || isOut || this.#isClosed) continue;
      const holds = held?.includes(variant) ?? pools?.includes(poolBySlot[other] ?? 0) ?? true;
      if (!holds) continue;
      const rank = this.#trust.failuresOf(other) + (guest === null ? 0 : 0.5);
      if (rank >= least) continue;
      found = other;
      least = rank;
    }
    return found;
  }

  #isInTime({ deadlineMs = Number.NEGATIVE_INFINITY }: Batch): boolean {
    return !this.#isClosed && this.#options.nowMs() < deadlineMs;
  }

  #takeOut(slot: number, reason: string): void {
    const seat = this.seatAt(slot);
    if (seat.isOut || this.#isClosed) return;
    seat.isOut = true;
    seat.waitMs = this.#onOut(slot, true);
    this.inner.recycle(slot, reason);
  }
}

class GuardedAssigned
  extends GuardedExecutor<AssignedProcessExecutor>
  implements AssignedProcessExecutor
{
  constructor(options: GuardOptions) {
    super(options);
    for (const seat of this.seats) seat.held = [];
  }

  assignedHandlers(handlers: AssignedExecutorHandlers): AssignedExecutorHandlers {
    const own = this.handlersFor<AssignedExecutorHandlers>(handlers);
    return {
      ...own,
      onLost: (slot, ...why) => {
        this.#hold(slot, []);
        own.onLost(slot, ...why);
      },
      onModelReady: (slot, loads) => {
        const seat = this.seatAt(slot);
        seat.held = seat.assigned;
        own.onModelReady(slot, loads);
      },
    };
  }

  assign(slot: number, variants: readonly number[], cores?: number): void {
    this.#hold(slot, variants);
    this.inner.assign(slot, variants, cores);
  }

  resize(slot: number, cores: number): void {
    this.inner.resize(slot, cores);
  }

  release(slot: number): void {
    this.#hold(slot, []);
    this.inner.release(slot);
  }

  #hold(slot: number, variants: readonly number[]): void {
    const seat = this.seatAt(slot);
    seat.held = [];
    seat.assigned = variants;
  }
}

/** Returns a copy of the first row of a batch; null if rows cannot be separated. */
function sampleOf(variant: VariantModel, batch: Batch): Batch | null {
  const row = rowsOfBatch(variant, batch, 0, 1);
  if (row === null) return null;
  const { stays: _, deadlineMs: __, ...sample } = row;
  return { ...sample, inputs: row.inputs.map((parts) => parts.map((part) => part.slice())) };
}
