/** Writes answers of some size on a thread, so that a worker computes its next batch meanwhile. */
import { Worker } from "node:worker_threads";

/** A socket takes smaller answers at once. */
const LEAST_BYTES = 1 << 18;
/** Larger ones are written by the worker itself. */
const MOST_BYTES = 1 << 24;
const PROGRAM = new URL("./answer-writer-thread.js", import.meta.url);

/** Cells that both threads use. */
export const PENDING = 0;
export const IS_UP = 1;
/** Stands in place of the number of bytes: the other end of the socket is closed. */
export const CLOSED = -1;

/** Data of the thread. */
export interface AnswerWriterData {
  readonly fd: number;
  /** At PENDING the number of bytes to write, 0 for none. */
  readonly cells: Int32Array<SharedArrayBuffer>;
  readonly memory: Uint8Array<SharedArrayBuffer>;
}

/**
 * Writes large answers on a thread of its own.
 *
 * The answer is copied, because a model may reuse the memory of its outputs. The thread starts with
 * the first answer that is large enough, and gets none before it has set IS_UP: a thread that does
 * not start only costs speed.
 */
export class AnswerWriter {
  readonly #fd: number;
  #data: AnswerWriterData | undefined;

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** @returns whether it writes these chunks; `settle` has been called. */
  take(chunks: readonly Uint8Array[]): boolean {
    let bytes = 0;
    for (const chunk of chunks) bytes += chunk.length;
    if (bytes < LEAST_BYTES || bytes > MOST_BYTES) return false;
    const { cells, memory } = this.#started();
    if (Atomics.load(cells, IS_UP) === 0) return false;
    let end = 0;
    for (const chunk of chunks) {
      memory.set(chunk, end);
      end += chunk.length;
    }
    Atomics.store(cells, PENDING, bytes);
    Atomics.notify(cells, PENDING);
    return true;
  }

  /** Waits until all is written. @returns false once the other end is closed. */
  settle(): boolean {
    const cells = this.#data?.cells;
    if (cells === undefined) return true;
    for (;;) {
      const pending = Atomics.load(cells, PENDING);
      if (pending <= 0) return pending !== CLOSED;
      Atomics.wait(cells, PENDING, pending);
    }
  }

  #started(): AnswerWriterData {
    this.#data ??= this.#start();
    return this.#data;
  }

  #start(): AnswerWriterData {
    const data: AnswerWriterData = {
      fd: this.#fd,
      cells: new Int32Array(new SharedArrayBuffer(8)),
      memory: new Uint8Array(new SharedArrayBuffer(MOST_BYTES)),
    };
    const thread = new Worker(PROGRAM, { workerData: data, execArgv: [] });
    // IS_UP stays 0 then.
    thread.on("error", () => {});
    thread.unref();
    return data;
  }
}
