/**
 * The batches of one worker that have no answer yet: one that it computes, and one whose answer is
 * on its way.
 */
import { assert } from "../../core/assert.ts";
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
} from "./frame-protocol.ts";
import { withMemoryLimit } from "./worker-memory.ts";

interface OpenBatch {
  readonly slot: number;
  /** Name of its variant. */
  readonly variant: string;
  readonly onComputed: OnComputed | undefined;
  readonly resolve: (result: BatchResult) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A worker writes the answer of a batch as a whole before it reads the next batch, so answers come
 * in the order of batches, and there are two of them at most.
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
   * The answer begins to come: the worker has computed its batch, which is told apart from this
   * call, but before the answer is. @param ranMs time of its run.
   */
  onAnswerHead(ranMs: number): void {
    const batch = this.#computing;
    assert(batch !== null && this.#answering === null, "a worker answers what it was asked");
    this.#answering = batch;
    this.#computing = null;
    const { onComputed } = batch;
    if (onComputed !== undefined) queueMicrotask(() => onComputed(ranMs));
  }

  /** Settles the batch that the frame answers. @throws Error if it answers none. */
  settle(frame: Frame): void {
    const batch = this.#answering ?? this.#computing;
    assert(batch !== null, `a worker sends a frame of kind ${frame.kind} only when asked`);
    const settle = settlement(batch, frame, this.#memoryBytes);
    if (this.#answering === null) this.#computing = null;
    this.#answering = null;
    settle();
  }

  /** The worker was lost; the batch that was given to it first is rejected first. */
  reject(reason: string): void {
    const batches = [this.#answering, this.#computing];
    this.#answering = null;
    this.#computing = null;
    for (const batch of batches) batch?.reject(new WorkerLostError(batch.slot, reason));
  }
}

/** How the answer settles the batch. @throws Error if it is none. */
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
