/**
 * Runs jobs with long JSON, or long protobuf, on a separate thread, so that they do not block the
 * event loop.
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { inferLimits } from "../bodies/body-memory.ts";
import { HttpError, RETRY_LATER } from "../connections/http-error.ts";
import type { Contents } from "../grpc/contents/typed-contents.ts";
import type { PredictedOutput } from "../protocol/kserve-v1.ts";
import type { InferRequest } from "../protocol/protocol.ts";
import { copied } from "../tensors/slices.ts";
import type { Datatype } from "../tensors/tensors.ts";
import { type Dialect, doJob, type JsonJob, type JsonResult, type ReadModel } from "./json-jobs.ts";

export interface JsonThreadLimits {
  /** Maximum number of bodies that wait for the thread. */
  readonly maxWaiting: number;
  /** Time of one job; then the thread is replaced. */
  readonly jobTimeoutMs: number;
}

export const JSON_THREAD_LIMITS: JsonThreadLimits = {
  maxWaiting: 32,
  jobTimeoutMs: 10_000,
};

/**
 * More than any job can need, since the parts of the text are counted first; a thread that reaches
 * its limit could end the process.
 */
const HEAP_MIB = 4096;

const SHORT_OF_THREADS = new HttpError(
  503,
  "the system refuses a thread for long JSON at the moment: too few descriptors, threads or memory",
  RETRY_LATER,
);

interface Waiting {
  readonly job: JsonJob;
  readonly resolve: (result: JsonResult) => void;
  readonly reject: (error: HttpError) => void;
}

/** Jobs of each kind that warm the thread: the first loads code, V8 compiles it by the third. */
const WARM_RUNS = 3;
const WARM_ELEMENTS = 16_384;
const WARM_SHAPE = [1, WARM_ELEMENTS];

/**
 * A thread that starts with the first job. Jobs run in order of arrival, but answers, whose
 * inference is done, go before requests. It does not keep the process alive.
 */
export class JsonThread {
  readonly #limits: JsonThreadLimits;
  readonly #program: string | URL;
  readonly #toRead: Waiting[] = [];
  readonly #toWrite: Waiting[] = [];
  #worker: Worker | undefined;
  #running: Waiting | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param program of the thread. Default: the program in this package. */
  constructor(limits: Partial<JsonThreadLimits> = {}, program: string | URL = programPath()) {
    this.#limits = { ...JSON_THREAD_LIMITS, ...limits };
    this.#program = program;
  }

  get isRunning(): boolean {
    return this.#worker !== undefined;
  }

  /**
   * Starts the thread and has long JSON read and written, there and on the event loop, so that no
   * request waits for code that is loaded and compiled: a third of a second at first.
   * @returns early if it is closed. @throws HttpError 503 if the system refuses a thread.
   */
  async warm(): Promise<void> {
    await this.#runWarm().catch((error: HttpError) => {
      if (!this.#isClosed) throw error;
    });
  }

  async #runWarm(): Promise<void> {
    const data = Array.from({ length: WARM_ELEMENTS }, (_, index) => index / 8);
    const tensor = { name: "x", datatype: "FP32", shape: WARM_SHAPE } as const;
    const text = JSON.stringify({ inputs: [{ ...tensor, data }] });
    const inputs = [{ ...tensor, rowShape: WARM_SHAPE.slice(1) }];
    const signature = { names: ["x"], inputs, outputs: [], variants: [] };
    const { parts } = inferLimits(inputs, 1, 2 ** 26);
    const model = { signature, maxRows: 1, parts };
    for (let run = 0; run < WARM_RUNS; run++) {
      const body = Buffer.from(text);
      doJob({ kind: "read", model, body, headerLength: undefined, dialect: "v2" });
      await this.read(model, body, undefined);
      await this.write("FP32", new Uint8Array(4 * WARM_ELEMENTS));
    }
  }

  /**
   * Same as `parseInferRequest`; the body's memory may be released afterwards.
   * @throws HttpError 400 for errors of `parseInferRequest`; 413 if it takes too long; 503 if too
   * many jobs wait.
   */
  async read(
    model: ReadModel,
    body: Buffer,
    headerLength: string | undefined,
    dialect: Dialect = "v2",
  ): Promise<InferRequest> {
    this.#expectRoom();
    const job = { kind: "read", model, body: owned(body), headerLength, dialect } as const;
    const result = await this.#done(this.#toRead, job);
    if (result.kind === "read") return result.request;
    throw errorOf(result);
  }

  /**
   * Decodes long inputs of a request over gRPC; their memory is handed over, and returned with
   * views on it. @throws HttpError as those of `read`.
   */
  async contents(inputs: readonly Contents[]): Promise<readonly Uint8Array[]> {
    this.#expectRoom();
    const plain = inputs.map(({ datatype, shape, bytes, isRaw, path }) => {
      return { datatype, shape, bytes, isRaw, path };
    });
    const result = await this.#done(this.#toRead, { kind: "contents", inputs: plain });
    if (result.kind === "contents") return result.inputs;
    throw errorOf(result);
  }

  /** Encodes a long output as InferTensorContents. @throws HttpError 500 */
  async typed(datatype: Datatype, bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
    const result = await this.#done(this.#toWrite, { kind: "typed", datatype, bytes });
    if (result.kind === "written" && result.text !== null) return result.text;
    throw errorOf(result);
  }

  /**
   * JSON text of a flat array, as `jsonOfBytes` writes it.
   * @returns undefined if an element is NaN or infinite.
   * @throws HttpError 500 if it cannot be done.
   */
  async write(datatype: Datatype, bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array | undefined> {
    const result = await this.#done(this.#toWrite, { kind: "write", datatype, bytes });
    if (result.kind === "written") return result.text ?? undefined;
    throw errorOf(result);
  }

  /** Same as `predictionsJson`; the outputs' memory is copied, in slices. @throws HttpError 500 */
  async predict(outputs: readonly PredictedOutput[]): Promise<Uint8Array> {
    const owned = outputs.map(async (output) => ({
      ...output,
      parts: [await copied(output.parts)],
    }));
    const job = { kind: "predict", outputs: await Promise.all(owned) } as const;
    const result = await this.#done(this.#toWrite, job);
    if (result.kind === "written" && result.text !== null) return result.text;
    throw errorOf(result);
  }

  /** Ends the thread; jobs that are not done are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const closed = new HttpError(503, "the server is shutting down", RETRY_LATER);
    for (const { reject } of this.#toRead.splice(0)) reject(closed);
    for (const { reject } of this.#toWrite.splice(0)) reject(closed);
    await this.#end(closed);
  }

  /** @throws HttpError 503 */
  #expectRoom(): void {
    const { length } = this.#toRead;
    if (length < this.#limits.maxWaiting) return;
    const found = `${length} long bodies wait to be read`;
    throw new HttpError(503, `request: ${found}, try again later`, RETRY_LATER);
  }

  #done(queue: Waiting[], job: JsonJob): Promise<JsonResult> {
    return new Promise((resolve, reject) => {
      queue.push({ job, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    if (this.#running !== undefined || this.#isClosed) return;
    const next = this.#toWrite.shift() ?? this.#toRead.shift();
    clearTimeout(this.#timer);
    if (next === undefined) return;
    this.#running = next;
    const { job } = next;
    try {
      this.#worker ??= this.#start();
    } catch {
      void this.#end(SHORT_OF_THREADS);
      this.#next();
      return;
    }
    this.#worker.postMessage(job, handedOver(job));
    this.#timer = setTimeout(() => this.#giveUp(), this.#limits.jobTimeoutMs).unref();
  }

  #start(): Worker {
    const worker = new Worker(this.#program, {
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
    });
    worker.unref();
    worker.on("message", (result: JsonResult) => {
      if (worker !== this.#worker) return;
      const done = this.#running;
      this.#running = undefined;
      done?.resolve(result);
      this.#next();
    });
    const onEnd = (reason: string | HttpError) => {
      if (worker !== this.#worker) return;
      const isKnown = reason instanceof HttpError;
      void this.#end(isKnown ? reason : jobError(this.#running, `cannot be done: ${reason}`));
      this.#next();
    };
    worker.on("error", ({ code, message }: NodeJS.ErrnoException) => {
      onEnd(code === "ERR_WORKER_INIT_FAILED" ? SHORT_OF_THREADS : message);
    });
    worker.on("exit", (code) => onEnd(`the thread ended with ${code}`));
    return worker;
  }

  /** A thread that is at one job for so long is replaced. */
  #giveUp(): void {
    const { jobTimeoutMs } = this.#limits;
    void this.#end(jobError(this.#running, `took longer than ${jobTimeoutMs} ms`));
    this.#next();
  }

  /** The next job gets a new thread. */
  async #end(error?: HttpError): Promise<void> {
    clearTimeout(this.#timer);
    const [worker, running] = [this.#worker, this.#running];
    this.#worker = undefined;
    this.#running = undefined;
    if (error !== undefined) running?.reject(error);
    await worker?.terminate();
  }
}

/** Memory that is transferred with a job instead of being copied. */
function handedOver(job: JsonJob): ArrayBuffer[] {
  if (job.kind === "predict") {
    return job.outputs.flatMap(({ parts }) => parts.map(({ buffer }) => buffer as ArrayBuffer));
  }
  if (job.kind === "contents") {
    const buffers = job.inputs.map(({ bytes }) => bytes.buffer as ArrayBuffer);
    return [...new Set(buffers)];
  }
  return [job.kind === "read" ? job.body.buffer : job.bytes.buffer];
}

/**
 * Path of the compiled program, also when the sources run directly: threads run compiled files
 * only.
 */
function programPath(): string {
  const description = createRequire(import.meta.url).resolve("stratagem-runtime/package.json");
  return join(dirname(description), "dist/server/json/json-thread-main.js");
}

/** A body in memory of its own, which can be handed over. */
function owned(body: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, length } = body;
  // Small ones share memory with others.
  const isOwn = byteOffset === 0 && buffer instanceof ArrayBuffer && buffer.byteLength > 65_536;
  return isOwn ? new Uint8Array(buffer, 0, length) : new Uint8Array(body);
}

function jobError(running: Waiting | undefined, problem: string): HttpError {
  if (running !== undefined && running.job.kind !== "read" && running.job.kind !== "contents")
    return new HttpError(500, `writing the outputs ${problem}`);
  return new HttpError(413, `request: reading its JSON ${problem}`);
}

function errorOf(result: JsonResult): HttpError {
  if (result.kind === "refused") return new HttpError(400, result.message);
  const message = result.kind === "failed" ? result.message : `an answer of kind ${result.kind}`;
  return new HttpError(500, `internal error: ${message}`);
}
