/** One worker process as the server sees it: starting, running one batch at a time, ending. */
import { type ChildProcess, spawn } from "node:child_process";
import { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { assert } from "../core/assert.ts";
import { type Batch, type BatchResult, InferenceError, WorkerLostError } from "./executor.ts";
import {
  decodeResult,
  decodeText,
  FRAME_KINDS,
  type Frame,
  runFrame,
  textFrame,
} from "./frame-protocol.ts";
import { FrameReader } from "./frame-reader.ts";
import type { WorkerSetup } from "./onnx-session.ts";

const WORKER_PATH = fileURLToPath(new URL("./worker.js", import.meta.url));
const CHANNEL = 3;
/** Standard input closed, standard output to our standard error (what a library prints is no output of ours), then the channel. */
const STDIO = ["ignore", 2, 2, "pipe"] as const;
/** Time a worker that was told to end has for its batch. */
const END_GRACE_MS = 1000;

export interface WorkerListener {
  /** Called at most once, before `onEnd`. */
  readonly onReady: (worker: WorkerProcess) => void;
  /** Called once, after those who wait for a batch have seen it fail. */
  readonly onEnd: (worker: WorkerProcess, reason: string) => void;
}

interface RunningBatch {
  readonly place: number;
  readonly variant: string;
  readonly resolve: (result: BatchResult) => void;
  readonly reject: (error: Error) => void;
}

export class WorkerProcess {
  readonly setup: WorkerSetup;
  readonly #listener: WorkerListener;
  readonly #child: ChildProcess;
  readonly #channel: Socket | null;
  readonly #ended: Promise<void>;
  #running: RunningBatch | null = null;
  #ready = false;
  /** Why it ended or will, as far as it is known; the exit status says it otherwise. */
  #reason: string | null = null;
  #hasEnded = false;

  /** @throws Error if the operating system refuses another process at once; later refusals end the worker. */
  constructor(setup: WorkerSetup, listener: WorkerListener) {
    this.setup = setup;
    this.#listener = listener;
    this.#child = spawn(process.execPath, [WORKER_PATH], { stdio: [...STDIO] });
    this.#ended = new Promise((resolve) => {
      this.#child.once("error", (error) => resolve(this.#end(error.message)));
      // Unlike "exit" it waits for what the worker wrote last: its result, or why it could not start.
      this.#child.once("close", (code, signal) =>
        resolve(this.#end(signal === null ? `exit code ${code}` : `signal ${signal}`)),
      );
    });
    const channel = this.#child.stdio?.[CHANNEL];
    this.#channel = channel instanceof Socket ? channel : null;
    if (this.#channel !== null) this.#open(this.#channel);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Runs a batch on behalf of a worker place; the worker must not be running another. */
  async run(place: number, batch: Batch): Promise<BatchResult> {
    assert(this.#ready && this.#running === null, "a batch goes to a worker that is idle");
    const channel = this.#channel;
    if (channel === null || this.#hasEnded || this.#reason !== null) {
      throw new WorkerLostError(place, this.#reason ?? "it has ended");
    }
    const variant = this.setup.variants[batch.variant]?.name;
    assert(variant !== undefined, "a batch names a variant that was loaded");
    const chunks = frameOf(variant, batch);
    return new Promise((resolve, reject) => {
      this.#running = { place, variant, resolve, reject };
      write(channel, chunks);
    });
  }

  /** Ends the process: at once if it is still starting, else by closing its channel, and by force if that does not help. */
  async end(reason: string): Promise<void> {
    this.#reason ??= reason;
    this.#rejectRunning(reason);
    this.#channel?.destroy();
    if (!this.#ready) this.#child.kill("SIGKILL");
    const force = setTimeout(() => this.#child.kill("SIGKILL"), END_GRACE_MS);
    await this.#ended;
    clearTimeout(force);
  }

  #open(channel: Socket): void {
    const reader = new FrameReader((frame) => this.#onFrame(frame));
    channel.on("data", (chunk: Buffer) => {
      try {
        reader.push(chunk);
      } catch (error) {
        this.#abort(error instanceof Error ? error.message : String(error));
      }
    });
    // The other end has gone, which its exit explains better.
    channel.on("error", () => {});
    channel.on("close", () => {
      if (this.#reason === null) this.#child.kill("SIGKILL");
    });
    write(channel, textFrame(FRAME_KINDS.load, JSON.stringify(this.setup)));
  }

  #onFrame(frame: Frame): void {
    const running = this.#running;
    if (frame.kind === FRAME_KINDS.failed) {
      this.#reason ??= decodeText(frame.payload);
    } else if (frame.kind === FRAME_KINDS.ready && !this.#ready) {
      this.#ready = true;
      // Apart from the frame, so that a mistake of the listener is not taken for one of the worker.
      queueMicrotask(() => this.#listener.onReady(this));
    } else {
      assert(running !== null, `a worker sends a frame of kind ${frame.kind} only when asked`);
      const settle = settlement(running, frame);
      this.#running = null;
      settle();
    }
  }

  /** Gives up on a worker that does not keep to the protocol. */
  #abort(reason: string): void {
    this.#reason ??= reason;
    this.#child.kill("SIGKILL");
  }

  #end(reason: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#reason ??= reason;
    const finalReason = this.#reason;
    this.#rejectRunning(finalReason);
    // Promise callbacks run before it, so whoever awaits the batch knows its fate before the place is refilled.
    setImmediate(() => this.#listener.onEnd(this, finalReason));
  }

  #rejectRunning(reason: string): void {
    const running = this.#running;
    this.#running = null;
    running?.reject(new WorkerLostError(running.place, reason));
  }
}

/** @throws InferenceError if the batch is larger than a frame. */
function frameOf(variant: string, batch: Batch): Uint8Array[] {
  try {
    return runFrame(batch);
  } catch (error) {
    if (error instanceof RangeError) throw new InferenceError(variant, error.message);
    throw error;
  }
}

/** How the answer settles the batch. @throws Error if it is none. */
function settlement(running: RunningBatch, frame: Frame): () => void {
  if (frame.kind === FRAME_KINDS.result) {
    const result = decodeResult(frame.payload);
    return () => running.resolve(result);
  }
  assert(frame.kind === FRAME_KINDS.refused, `a batch is not answered by kind ${frame.kind}`);
  const error = new InferenceError(running.variant, decodeText(frame.payload));
  return () => running.reject(error);
}

/** One system call for all chunks, none of them copied. */
function write(channel: Socket, chunks: readonly Uint8Array[]): void {
  channel.cork();
  for (const chunk of chunks) channel.write(chunk);
  channel.uncork();
}
