import { type ClientRequest, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import type { ModelFile, RamsisBundle, TensorInfo } from "../../../runtime/bundle/schema.ts";
import {
  type Batch,
  type BatchResult,
  type Executor,
  type ExecutorHandlers,
  InferenceError,
  RowsRefusedError,
  WorkerLostError,
} from "../../../runtime/exec/models/executor.ts";
import type { LossCause } from "../../../runtime/exec/models/scaler.ts";
import {
  type RamsisApplicationOptions,
  ramsisApplication,
} from "../../../runtime/methods/ramsis/serve/ramsis-application.ts";
import type { OpenOptions, RunningServer } from "../../../runtime/server/serve.ts";
import { type FeatureOptions, serveOne } from "../../support/serve-one.ts";
import { type TinyBundleOptions, tinyBundle } from "../../support/tiny-bundle.ts";

export const X: TensorInfo = { name: "x", dtype: "float32", shape: [-1, 2] };
export const ECHOED: TensorInfo = { name: "y", dtype: "float32", shape: [-1, 2] };

/** A tiny bundle whose variants have models. The fake executor echoes: output i is input i. */
export function servedBundle(
  options: TinyBundleOptions = {},
  inputs: readonly TensorInfo[] = [X],
  outputs: readonly TensorInfo[] = [ECHOED],
): RamsisBundle {
  const bundle = tinyBundle(options);
  const model: ModelFile = { file: "echo.onnx", sha256: "0".repeat(64), inputs, outputs };
  return {
    ...bundle,
    tasks: bundle.tasks.map((task) => ({
      ...task,
      variants: task.variants.map((variant) => ({ ...variant, model })),
    })),
  };
}

interface Held {
  readonly worker: number;
  readonly batch: Batch;
  readonly onComputed: () => void;
  readonly resolve: (result: BatchResult) => void;
  readonly reject: (error: Error) => void;
}

/** Echoes each batch at once, or keeps them until the test says how they end. */
export class FakeExecutor implements Executor {
  readonly outputs: readonly TensorInfo[];
  readonly handlers: ExecutorHandlers;
  readonly held: Held[] = [];
  readonly batches: Batch[] = [];
  /** Time that a batch says it took in its worker. */
  wallMs = 1;
  isHolding = false;
  isClosed = false;
  /** Called at every batch. */
  onRun: () => void = () => {};

  constructor(handlers: ExecutorHandlers, outputs: readonly TensorInfo[] = [ECHOED]) {
    this.handlers = handlers;
    this.outputs = outputs;
  }

  run(worker: number, batch: Batch, onComputed = () => {}): Promise<BatchResult> {
    this.batches.push(batch);
    return new Promise((resolve, reject) => {
      this.held.push({ worker, batch, onComputed, resolve, reject });
      if (!this.isHolding) this.finish();
      this.onRun();
    });
  }

  /** Resolves when `count` batches have been handed over in all. */
  ran(count: number): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        if (this.batches.length >= count) resolve();
      };
      this.onRun = check;
      check();
    });
  }

  /** Answers the oldest batch that is held. */
  finish(): void {
    const { batch, resolve } = this.take();
    resolve({
      outputs: this.outputs.map(({ shape }, index) => ({
        shape: [batch.rows, ...shape.slice(1)],
        bytes: new Uint8Array(Buffer.concat(batch.inputs[index] ?? [])),
      })),
      wallMs: this.wallMs,
      cpuMs: 1,
      cores: 1,
    });
  }

  refuse(): void {
    this.take().reject(new InferenceError("small", "the model said no"));
  }

  /** Refuses some rows of a batch for what they are. */
  refuseRows(rows: readonly number[]): void {
    const held = this.take();
    const own = [...new Set(rows.map((row) => row % held.batch.rows))].sort((a, b) => a - b);
    held.reject(new RowsRefusedError("small", "no image", own));
  }

  /** The worker of the oldest batch that is held has computed its last; no answer is here yet. */
  compute(): void {
    const worker = this.held[0]?.worker;
    this.held.findLast((held) => held.worker === worker)?.onComputed();
  }

  /** Ends the worker of the oldest batch that is held. */
  lose(): void {
    const worker = this.#rejectAll();
    this.handlers.onLost(worker, "killed");
  }

  /** As `lose`, but a standby takes the place. */
  replace(cause: LossCause = "ended"): void {
    const worker = this.#rejectAll();
    this.handlers.onReplaced?.(worker, "killed", cause);
  }

  /** Rejects every batch of the worker of the oldest one. */
  #rejectAll(): number {
    const { worker, reject } = this.take();
    reject(new WorkerLostError(worker, "killed"));
    while (this.held.some((held) => held.worker === worker)) {
      const [next] = this.held.splice(
        this.held.findIndex((held) => held.worker === worker),
        1,
      );
      next?.reject(new WorkerLostError(worker, "killed"));
    }
    return worker;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    for (const { worker, reject } of this.held) reject(new WorkerLostError(worker, "closed"));
  }

  take(): Held {
    const held = this.held.shift();
    if (held === undefined) throw new Error("no batch is held");
    return held;
  }
}

export interface Harness {
  readonly server: RunningServer;
  readonly executor: FakeExecutor;
  /** The clock; it stands still unless the test moves it. */
  readonly clock: { nowMs: number };
}

const OPEN: RunningServer[] = [];

/** A server whose workers are all ready. Close it with `closeAll`. */
export async function serve(
  options: Partial<RamsisApplicationOptions & OpenOptions & FeatureOptions> = {},
  { ready = true }: { readonly ready?: boolean } = {},
): Promise<Harness> {
  const bundle = options.bundle ?? servedBundle();
  const clock = { nowMs: 1000 };
  const outputs = bundle.tasks[0]?.variants[0]?.model?.outputs;
  const make =
    options.executorFactory ??
    ((handlers: ExecutorHandlers) => new FakeExecutor(handlers, outputs));
  let executor: Executor | undefined;
  const server = await serveOne(ramsisApplication, {
    bundle,
    bundleSha256: "ab".repeat(32),
    host: "127.0.0.1",
    port: 0,
    nowMs: () => clock.nowMs,
    version: "0.0.0",
    ...options,
    executorFactory: async (handlers) => {
      executor = await make(handlers);
      return executor;
    },
  });
  OPEN.push(server);
  if (!(executor instanceof FakeExecutor)) throw new Error("the server made no executor");
  const workers = bundle.cluster.pools.reduce((count, pool) => count + pool.workers, 0);
  for (let worker = 0; ready && worker < workers; worker++) executor.handlers.onReady(worker);
  return { server, executor, clock };
}

export async function closeAll(): Promise<void> {
  await Promise.all(OPEN.splice(0).map((server) => server.close()));
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Call {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly body?: string | Uint8Array;
  /** Receives the request, to destroy it. */
  readonly onRequest?: (request: ClientRequest) => void;
}

export function call(harness: Harness, path: string, options: Call = {}): Promise<Reply> {
  const { method = options.body === undefined ? "GET" : "POST", headers = {}, body } = options;
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${harness.server.url}${path}`, { method, headers, agent: false });
    request.on("error", reject);
    request.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const { statusCode: status = 0, headers: replied } = response;
        resolve({ status, headers: replied, body: Buffer.concat(chunks) });
      });
    });
    options.onRequest?.(request);
    request.end(body);
  });
}

export const INFER = "/v2/models/tiny/infer";

export function jsonOf({ body }: Reply): ReturnType<typeof JSON.parse> {
  return JSON.parse(body.toString());
}

export function inferJson(rows: readonly (readonly number[])[], extra: object = {}): string {
  const input = { name: "x", datatype: "FP32", shape: [rows.length, 2], data: rows };
  return JSON.stringify({ inputs: [input], ...extra });
}
