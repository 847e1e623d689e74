/** The batches of one worker that have no answer yet, and whether the worker hangs. */

import { readdirSync, readFileSync } from "node:fs";
import { assert } from "../../core/assert.ts";
import type { BatchPace, TimedBatch } from "../limits/batch-pace.ts";
import { LONGEST_TIMER_MS, type WorkerLimits } from "../limits/worker-limits.ts";
import {
  type BatchResult,
  InferenceError,
  type OnComputed,
  RowsRefusedError,
  WorkerLostError,
} from "../models/executor.ts";
import {
  decodeResult,
  decodeText,
  FRAME_KINDS,
  type Frame,
  type RefusedRows,
} from "./worker-channel.ts";
import { withMemoryLimit } from "./worker-memory.ts";

interface OpenBatch {
  readonly slot: number;
  readonly variant: string;
  readonly onComputed: OnComputed | undefined;
  readonly resolve: (result: BatchResult) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A worker writes the whole answer of a batch before it reads the next batch, so answers arrive in
 * the order of batches, and at most two are open.
 */
export class OpenBatches {
  /** Limit of the memory of the worker, bytes; null for none. */
  readonly #memoryBytes: number | null;
  #computing: OpenBatch | null = null;
  #answering: OpenBatch | null = null;

  constructor(memoryBytes: number | null) {
    this.#memoryBytes = memoryBytes;
  }

  get isComputing(): boolean {
    return this.#computing !== null;
  }

  start(batch: OpenBatch): void {
    assert(this.#computing === null, "a worker computes one batch at a time");
    this.#computing = batch;
  }

  /**
   * Called when an answer begins to arrive: its worker has computed the batch and is free for the
   * next, while the rest of the answer is still to come.
   * @param ranMs time of its run.
   */
  onAnswerHead(ranMs: number): void {
    const batch = this.#computing;
    assert(batch !== null && this.#answering === null, "a worker answers one batch at a time");
    this.#answering = batch;
    this.#computing = null;
    const { onComputed } = batch;
    if (onComputed !== undefined) queueMicrotask(() => onComputed(ranMs));
  }

  /** Settles the batch that the frame answers. @throws Error if the frame answers no batch. */
  settle(frame: Frame): void {
    const batch = this.#answering ?? this.#computing;
    assert(batch !== null, `a worker sends a frame of kind ${frame.kind} only when asked`);
    const settle = settlement(batch, frame, this.#memoryBytes);
    if (this.#answering === null) this.#computing = null;
    this.#answering = null;
    settle();
  }

  /** Rejects the open batches of a lost worker, in the order in which they were given to it. */
  reject(reason: string): void {
    const batches = [this.#answering, this.#computing];
    this.#answering = null;
    this.#computing = null;
    for (const batch of batches) batch?.reject(new WorkerLostError(batch.slot, reason));
  }
}

/** Returns how the answer settles the batch. @throws Error if it is not an answer. */
function settlement(batch: OpenBatch, frame: Frame, memoryBytes: number | null): () => void {
  if (frame.kind === FRAME_KINDS.result) {
    const result = decodeResult(frame.payload);
    return () => batch.resolve(result);
  }
  if (frame.kind === FRAME_KINDS.refusedRows) {
    const { rows, message }: RefusedRows = JSON.parse(decodeText(frame.payload));
    return () => batch.reject(new RowsRefusedError(batch.variant, message, rows));
  }
  assert(frame.kind === FRAME_KINDS.refused, `a batch is not answered by kind ${frame.kind}`);
  const reason = withMemoryLimit(decodeText(frame.payload), memoryBytes);
  const error = new InferenceError(batch.variant, reason);
  return () => batch.reject(error);
}

/** A timer that is this late shows that the server itself was held up. */
const HELD_UP_MS = 50;
/** Pings in a row without an answer after which an idle worker counts as hung. */
const MOST_MISSED = 2;

interface Watched {
  readonly pid: number | undefined;
  /** Whether it loads models, which have a limit of their own. */
  readonly isLoading: () => boolean;
  /** Asks it to answer; it is idle. */
  readonly ping: () => void;
  readonly onHung: (reason: string) => void;
}

interface RunningBatch {
  readonly timed: TimedBatch;
  /** From when its time counts. */
  sinceMs: number;
  /** Whether only its answer is waited for. */
  isComputed: boolean;
}

export class WorkerWatch {
  readonly #limits: WorkerLimits;
  readonly #pace: BatchPace;
  readonly #worker: Watched;
  /** Oldest batch without an answer. */
  #batch: RunningBatch | null = null;
  /** Batch that was given to the worker while the answer of the older one is in transit. */
  #next: TimedBatch | null = null;
  #batchTimer: NodeJS.Timeout | undefined;
  #pulse: NodeJS.Timeout | undefined;
  #pulseMs = 0;
  #missed = 0;
  #isOver = false;

  constructor(limits: WorkerLimits, pace: BatchPace, worker: Watched) {
    this.#limits = limits;
    this.#pace = pace;
    this.#worker = worker;
  }

  /** Whether it has not answered the ping before the last. */
  get isSilent(): boolean {
    return this.#missed > 1;
  }

  /** The worker is ready. */
  begin(): void {
    this.#pulseMs = performance.now();
    const onPulse = () => setImmediate(() => this.#onPulse());
    this.#pulse = setInterval(onPulse, this.#limits.pingMs).unref();
  }

  /** Called when a batch is given to it: its time counts once the previous answer has arrived. */
  start(timed: TimedBatch): void {
    if (this.#batch === null) this.#begin(timed);
    else this.#next = timed;
  }

  /** Called when a batch is computed. Its answer may take as long again: the timer checks that. */
  onComputed(): void {
    const batch = this.#batch;
    if (batch === null) return;
    const nowMs = performance.now();
    this.#pace.onAnswered(batch.timed, nowMs - batch.sinceMs, nowMs);
    batch.sinceMs = nowMs;
    batch.isComputed = true;
  }

  onAnswered(): void {
    const [batch, next] = [this.#batch, this.#next];
    if (batch === null) return;
    this.forget();
    if (!batch.isComputed) {
      const nowMs = performance.now();
      this.#pace.onAnswered(batch.timed, nowMs - batch.sinceMs, nowMs);
    }
    if (next !== null) this.#begin(next);
  }

  /** Models are loaded: a batch that was sent meanwhile has waited for it. */
  onLoaded(): void {
    if (this.#batch !== null) this.#batch.sinceMs = performance.now();
  }

  onPong(): void {
    this.#missed = 0;
  }

  /** No batch is waited for. */
  forget(): void {
    this.#batch = null;
    this.#next = null;
    clearTimeout(this.#batchTimer);
  }

  end(): void {
    this.#isOver = true;
    this.forget();
    clearInterval(this.#pulse);
  }

  #begin(timed: TimedBatch): void {
    const sinceMs = performance.now();
    const batch = { timed, sinceMs, isComputed: false };
    this.#batch = batch;
    this.#wait(batch, this.#pace.limitMs(timed, sinceMs));
  }

  /**
   * Timers run before the channel is read: when the server itself has paused, the answer may be
   * there already. So the time is checked again after reading.
   */
  #wait(batch: RunningBatch, wantedMs: number): void {
    const waitMs = Math.min(wantedMs, LONGEST_TIMER_MS);
    const dueMs = performance.now() + waitMs;
    clearTimeout(this.#batchTimer);
    const onDue = () => setImmediate(() => this.#onDue(batch, dueMs));
    this.#batchTimer = setTimeout(onDue, waitMs).unref();
  }

  /**
   * Checks the limit. Time for which the server itself was held up does not count, nor the time of
   * a load which the batch waits for; the limit may have become wider since; and a worker that
   * still computes gets more time.
   */
  #onDue(batch: RunningBatch, dueMs: number): void {
    if (this.#batch !== batch) return;
    const nowMs = performance.now();
    const limitMs = this.#pace.limitMs(batch.timed, nowMs);
    const heldUpMs = nowMs - dueMs;
    if (this.#worker.isLoading()) batch.sinceMs = nowMs;
    else if (heldUpMs > HELD_UP_MS) batch.sinceMs += Math.min(heldUpMs, limitMs);
    const tookMs = nowMs - batch.sinceMs;
    const { busyFactor, batchTimeoutMs } = this.#limits;
    const busyLimitMs = Math.max(limitMs, Math.min(busyFactor * limitMs, batchTimeoutMs));
    if (tookMs < limitMs) this.#wait(batch, limitMs - tookMs);
    else if (tookMs < busyLimitMs && hasRunnableThread(this.#worker.pid)) {
      this.#wait(batch, Math.min(limitMs, busyLimitMs - tookMs));
    } else {
      this.#pace.onHung(batch.timed);
      const hadMs = tookMs < busyLimitMs ? limitMs : busyLimitMs;
      this.#worker.onHung(`no answer within ${Math.round(hadMs)} ms`);
    }
  }

  /** Asks an idle worker whether it is alive; limits watch the busy ones. */
  #onPulse(): void {
    const { pingMs } = this.#limits;
    const nowMs = performance.now();
    const isHeldUp = nowMs - this.#pulseMs > pingMs + HELD_UP_MS;
    this.#pulseMs = nowMs;
    if (this.#isOver || this.#batch !== null || this.#worker.isLoading() || isHeldUp) return;
    // One that wants to run is only short of cores.
    if (this.#missed >= MOST_MISSED && !hasRunnableThread(this.#worker.pid)) {
      this.#worker.onHung(`no answer to ${MOST_MISSED} pings of ${pingMs} ms`);
      return;
    }
    this.#missed++;
    this.#worker.ping();
  }
}

/**
 * Whether a thread of a process is running or runnable: then it computes, or waits for a core, and
 * is neither stopped nor asleep. False if the system does not report it, as outside of Linux.
 */
function hasRunnableThread(pid: number | undefined): boolean {
  const tasks = `/proc/${pid}/task`;
  try {
    return readdirSync(tasks).some((task) => isRunnable(readFileSync(`${tasks}/${task}/stat`)));
  } catch {
    return false;
  }
}

/** The state is the letter behind the name, which is in brackets and may hold any. */
function isRunnable(stat: Buffer): boolean {
  const text = stat.toString("latin1");
  return text[text.lastIndexOf(")") + 2] === "R";
}
