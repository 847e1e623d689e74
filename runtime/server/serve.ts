import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Bundle } from "../bundle/schema.ts";
import { RuntimeError } from "../errors.ts";
import type { Executor, ExecutorHandlers } from "../exec/executor.ts";
import { type HttpContext, isReady } from "./context.ts";
import { handle } from "./http.ts";
import { type GenerateLevel, LevelGeneration } from "./level-generation.ts";
import { type GenerationOutcome, Metrics } from "./metrics.ts";
import type { RecordedCommand, RecordedEvent, Recorder } from "./recording.ts";
import { RequestReader } from "./request-reader.ts";
import { Scheduler } from "./scheduler.ts";
import { ServedPolicy } from "./served-policy.ts";
import { type ModelSignature, signatureOf } from "./signature.ts";

export interface ServerLimits {
  /** Of a request's body, compressed and not. */
  readonly maxBodyBytes: number;
  /** Rows of one request. */
  readonly maxRows: number;
  /** Rows that wait or run. */
  readonly maxPending: number;
  readonly maxConnections: number;
  readonly headerTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  /** How long a connection may stay open between requests. */
  readonly idleTimeoutMs: number;
  /** How long `close` waits for what was accepted. */
  readonly drainTimeoutMs: number;
}

export const DEFAULT_LIMITS: ServerLimits = {
  maxBodyBytes: 64 * 2 ** 20,
  maxRows: 64,
  maxPending: 4096,
  maxConnections: 4096,
  headerTimeoutMs: 10_000,
  bodyTimeoutMs: 30_000,
  idleTimeoutMs: 60_000,
  drainTimeoutMs: 30_000,
};

/** Connections that wait to be accepted; the system caps it. Beyond it they are lost and tried again a second later, so a burst needs room. */
const BACKLOG = 4096;
/** While the server closes: how often idle connections are ended, and how long answers may still be on their way. */
const SWEEP_MS = 20;
const LINGER_MS = 1000;

export interface ServerOptions {
  readonly bundle: Bundle;
  readonly bundleSha256: string;
  /** Makes the executor, whose workers may be ready at once. Called when the server listens. */
  readonly executorFactory: (handlers: ExecutorHandlers) => Executor | Promise<Executor>;
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Milliseconds of a clock that does not go back. */
  readonly nowMs: () => number;
  /** What to add to `nowMs` to have milliseconds since 1970; for statistics only. */
  readonly epochOffsetMs?: number;
  /** Of the program, as the server tells it. */
  readonly version: string;
  readonly limits?: Partial<ServerLimits>;
  readonly recorder?: Recorder;
  /** Told why a worker was lost. */
  readonly onWorkerLost?: (worker: number, reason: string) => void;
  /** Computes a level when the load stays above the highest one; without it the top level decides there. */
  readonly generateLevel?: GenerateLevel | undefined;
  /** For what an operator should see, such as an added level. */
  readonly onNotice?: (message: string) => void;
}

export interface RunningServer {
  /** Such as `http://127.0.0.1:8000`. */
  readonly url: string;
  /** Whether every worker is ready and the server is not closing. */
  isReady(): boolean;
  /**
   * Lets another bundle decide from now on; requests that wait or run stay. @param bundle a validated one.
   * @returns null, or why this server cannot follow it, in which case it goes on as before.
   */
  replaceBundle(bundle: Bundle, bundleSha256: string): string | null;
  /** Becomes unready, answers what it has accepted, and ends the workers. Further calls wait for the first. */
  close(): Promise<void>;
}

/**
 * Serves a bundle over HTTP. Health and metadata are answered at once; inference once workers are ready.
 * @throws RuntimeError RUNTIME_LISTEN if the address cannot be listened at, RUNTIME_MODEL if the bundle's models do not fit together;
 * whatever `executorFactory` throws, with nothing left open.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const house = new House(options, limits);
  const server = serverOf(house.context, limits);
  await listen(server, options.host, options.port);
  let executor: Executor;
  try {
    executor = await house.openWorkers(options);
  } catch (error) {
    await closeServer(server);
    throw error;
  }
  let closing: Promise<void> | undefined;
  const close = async () => {
    house.generation?.close();
    const isEmptied = await house.drain(limits.drainTimeoutMs);
    const closed = closeServer(server);
    if (!isEmptied) house.scheduler.abort();
    await executor.close();
    await closed;
  };
  return {
    url: urlOf(server, options.host),
    isReady: () => isReady(house.context),
    replaceBundle: (bundle, bundleSha256) => house.replaceBundle(bundle, bundleSha256),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** Who is in: the scheduler, its signs of life, and the inference requests being answered. */
class House {
  readonly scheduler: Scheduler;
  readonly policy: ServedPolicy;
  readonly generation: LevelGeneration | undefined;
  readonly context: HttpContext;
  #isDraining = false;
  #inferCount = 0;
  #onEmpty: () => void = () => {};

  constructor(options: ServerOptions, limits: ServerLimits) {
    const { bundle, nowMs, recorder } = options;
    const signature = signatureOf(bundle);
    const metrics = metricsOf(signature);
    const record: Recorder = (entry: RecordedEvent | RecordedCommand) => {
      if (entry.kind === "arrival") {
        this.generation?.onArrival(entry.nowMs);
      }
      recorder?.(entry);
    };
    this.scheduler = new Scheduler({
      bundle,
      signature,
      nowMs,
      maxPending: limits.maxPending,
      recorder: record,
      observer: metrics,
    });
    this.policy = new ServedPolicy(bundle, options.bundleSha256, this.scheduler);
    this.generation = generationOf(options, this.policy, metrics);
    this.context = {
      ...limits,
      signature,
      requests: new RequestReader(signature, limits.maxRows),
      scheduler: this.scheduler,
      policy: this.policy,
      metrics,
      version: options.version,
      nowMs,
      epochOffsetMs: options.epochOffsetMs ?? 0,
      sloMs: bundle.slo.latencyMs,
      isDraining: () => this.#isDraining,
      onInfer: (change) => {
        this.#inferCount += change;
        if (this.#inferCount === 0) this.#onEmpty();
      },
    };
  }

  replaceBundle(bundle: Bundle, bundleSha256: string): string | null {
    const refusal = this.policy.replace(bundle, bundleSha256);
    if (refusal === null) this.generation?.onPolicyReplaced();
    return refusal;
  }

  /** Workers may be ready before the executor is there to be called, so what they tell waits until it is. */
  async openWorkers({ executorFactory, onWorkerLost }: ServerOptions): Promise<Executor> {
    const { scheduler } = this;
    let early: (() => void)[] | undefined = [];
    const tell = (act: () => void) => {
      if (early === undefined) act();
      else early.push(act);
    };
    const executor = await executorFactory({
      onReady: (worker) => tell(() => scheduler.onWorkerReady(worker)),
      onLost: (worker, reason) =>
        tell(() => {
          scheduler.onWorkerLost(worker, reason);
          if (!this.#isDraining) onWorkerLost?.(worker, reason);
        }),
      onReplaced: (worker, reason) =>
        tell(() => {
          scheduler.onWorkerReplaced(worker, reason);
          if (!this.#isDraining) onWorkerLost?.(worker, reason);
        }),
    });
    scheduler.attach(executor);
    const waiting = early;
    early = undefined;
    for (const act of waiting) act();
    return executor;
  }

  /** Refuses new inference and waits for the accepted. @returns whether all of it was answered in time. */
  async drain(timeoutMs: number): Promise<boolean> {
    this.#isDraining = true;
    if (this.#inferCount === 0) return true;
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), timeoutMs);
      this.#onEmpty = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}

function metricsOf({ names, variants }: ModelSignature): Metrics {
  const variantNames = variants.map(({ name }) => name);
  return new Metrics(names[0] ?? "", variantNames);
}

function generationOf(
  { generateLevel, onNotice = () => {} }: ServerOptions,
  policy: ServedPolicy,
  metrics: Metrics,
): LevelGeneration | undefined {
  if (generateLevel === undefined) return undefined;
  const onDone = (outcome: GenerationOutcome) => metrics.onGenerationDone(outcome);
  return new LevelGeneration({ policy, generateLevel, onDone, onNotice });
}

function serverOf(context: HttpContext, limits: ServerLimits): Server {
  const server = createServer(
    {
      headersTimeout: limits.headerTimeoutMs,
      // Bodies have a limit of their own, whose answer says what was missing.
      requestTimeout: 0,
      keepAliveTimeout: limits.idleTimeoutMs,
      connectionsCheckingInterval: Math.min(1000, limits.headerTimeoutMs),
    },
    (request, response) => {
      void handle(context, request, response);
    },
  );
  server.maxConnections = limits.maxConnections;
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    refuse(error, socket as Socket);
  });
  return server;
}

/** Answers what the HTTP parser refused, in which case there is no request to answer. */
function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const [status, message] =
    error.code === "ERR_HTTP_REQUEST_TIMEOUT"
      ? ["408 Request Timeout", "the header of the request took too long"]
      : error.code === "HPE_HEADER_OVERFLOW"
        ? ["431 Request Header Fields Too Large", "the header of the request is too large"]
        : ["400 Bad Request", `expected an HTTP request (${error.message})`];
  const body = JSON.stringify({ error: message });
  const head = `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`;
  socket.end(`${head}\r\n\r\n${body}`, () => socket.destroy());
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const reason = error.code === "EADDRINUSE" ? "it is taken" : String(error.code ?? error);
      const message = `${host}:${port}: expected an address to serve at, got: ${reason}; choose another with --http`;
      reject(new RuntimeError("RUNTIME_LISTEN", message));
    });
    server.listen({ port, host, backlog: BACKLOG }, () => resolve());
  });
}

/** Idle connections end at once, one that is sending its last answer soon after it, and what is left after a while. */
function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
    const force = setTimeout(() => server.closeAllConnections(), LINGER_MS);
    server.close(() => {
      clearInterval(sweep);
      clearTimeout(force);
      resolve();
    });
    server.closeIdleConnections();
  });
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
