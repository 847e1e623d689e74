/** A server from its listening to its close, whatever answers in it. */
import type { Bundle, Cluster } from "../bundle/schema.ts";
import type { Executor, ExecutorHandlers } from "../exec/executor.ts";
import { ByteBudget } from "./bodies/byte-budget.ts";
import { Connections } from "./connections/connections.ts";
import type { PaceLimits } from "./connections/pace.ts";
import { RequestCounts } from "./connections/request-counts.ts";
import {
  type HostedModel,
  type HttpContext,
  hostedModels,
  inferredModels,
  isReady,
} from "./http/context.ts";
import { closeServer, type ListeningLimits, listen, serverOf, urlOf } from "./http/listening.ts";
import { LoopLag } from "./http/loop-lag.ts";
import { serverMetricsText } from "./http/server-metrics.ts";
import type { ReadModel } from "./json/json-jobs.ts";
import { JsonThread } from "./json/json-thread.ts";
import { TurnShare } from "./json/turn-share.ts";
import { LoopDelay } from "./metrics/loop-delay.ts";
import type { Endpoint } from "./requests/endpoint.ts";
import { Gate } from "./requests/gate.ts";

export interface ServerLimits extends ListeningLimits, PaceLimits {
  /** Of a request's body, compressed and not, where its model's shapes could need more. */
  readonly maxBodyBytes: number;
  /** Of bodies and tensors of all requests that have no answer yet. */
  readonly maxBytesInFlight: number;
  /** Rows of one request, where its model has no limit of its own. */
  readonly maxRows: number;
  /** Rows of requests that wait or run. */
  readonly maxPending: number;
  /** How long `close` waits for what was accepted. */
  readonly drainTimeoutMs: number;
}

export const DEFAULT_LIMITS: ServerLimits = {
  maxBodyBytes: 64 * 2 ** 20,
  maxBytesInFlight: 512 * 2 ** 20,
  maxRows: 64,
  maxPending: 4096,
  maxConnections: 4096,
  maxPipelined: 64,
  maxHeaderBytes: 16 * 2 ** 10,
  maxHeaderFields: 256,
  headerTimeoutMs: 10_000,
  bodyTimeoutMs: 30_000,
  bodyWindowMs: 5000,
  minBodyBytesPerS: 1024,
  sendTimeoutMs: 10_000,
  maxUnsentBytes: 256 * 2 ** 20,
  maxUnsentBytesPerConnection: 64 * 2 ** 20,
  idleTimeoutMs: 60_000,
  lingerMs: 1000,
  drainTimeoutMs: 30_000,
};

/** What servers of all kinds of bundles have in common. */
export interface CommonServerOptions {
  readonly bundleSha256: string;
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Milliseconds of a clock that does not go back. */
  readonly nowMs: () => number;
  /**
   * The clock by which timers call, as which `nowMs` is the same where time is real: how far the
   * loop is behind counts against deadlines. Left out, it never is.
   */
  readonly loopNowMs?: () => number;
  /** Is added to `nowMs` to have milliseconds since 1970; for statistics only. */
  readonly epochOffsetMs?: number;
  /** Of the program, as the server tells it. */
  readonly version: string;
  readonly limits?: Partial<ServerLimits>;
  /** Told why a worker was lost. */
  readonly onWorkerLost?: (worker: number, reason: string) => void;
  /** For what an operator should see, such as an added level. */
  readonly onNotice?: (message: string) => void;
}

/** With what is served. */
export interface ServedOptions extends CommonServerOptions {
  readonly bundle: Bundle;
}

export interface RunningServer {
  /** Such as `http://127.0.0.1:8000`. */
  readonly url: string;
  /** Kept once the workers are ready for the first time. */
  readonly started: Promise<void>;
  /** Whether the workers are ready and the server is not closing. */
  isReady(): boolean;
  /**
   * Lets another bundle decide from now on; requests that wait or run stay.
   * @param bundle a validated one.
   * @returns null, or why this server cannot follow it, in which case it goes on as before.
   */
  replaceBundle(bundle: Bundle, bundleSha256: string): string | null;
  /**
   * Becomes unready, answers what it has accepted, and ends the workers. Further calls wait for the
   * first.
   */
  close(): Promise<void>;
}

/** What answers, on what: where the methods differ. */
export interface Opening<E extends Executor, H extends Required<ExecutorHandlers>> {
  readonly endpointOf: (
    onWorkerLost: (worker: number, reason: string) => void,
  ) => ServedEndpoint<E, H>;
  /** Makes the executor, whose workers may be ready at once. Called when the server listens. */
  readonly executorFactory: (handlers: H) => E | Promise<E>;
}

/**
 * Serves a bundle over HTTP. Health and metadata are answered at once; inference once workers are
 * ready. @throws RuntimeError RUNTIME_LISTEN if the address cannot be listened at; whatever
 * `endpointOf` and `executorFactory` throw, with nothing left open.
 */
export async function openServer<E extends Executor, H extends Required<ExecutorHandlers>>(
  options: ServedOptions,
  limits: ServerLimits,
  { endpointOf, executorFactory }: Opening<E, H>,
): Promise<RunningServer> {
  const { host, port } = options;
  const house = new House(options, limits, endpointOf);
  const server = serverOf(house.context, house.context.connections, limits);
  await listen(server, host, port);
  let executor: Executor;
  try {
    executor = await house.openWorkers(executorFactory);
  } catch (error) {
    await closeServer(server);
    throw error;
  }
  const { endpoint } = house;
  house.loopDelay.start();
  let closing: Promise<void> | undefined;
  const close = async () => {
    endpoint.drain();
    const isEmptied = await house.drain(limits.drainTimeoutMs);
    const closed = closeServer(server);
    if (!isEmptied) endpoint.abort();
    await executor.close();
    await closed;
    await house.close();
  };
  return {
    url: urlOf(server, host),
    started: endpoint.started,
    isReady: () => isReady(house.context),
    replaceBundle: (bundle, bundleSha256) => endpoint.replaceBundle(bundle, bundleSha256),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** An endpoint that takes an executor of a kind, and what that has to tell. */
export interface ServedEndpoint<E extends Executor, H extends ExecutorHandlers> extends Endpoint {
  readonly handlers: H & Required<ExecutorHandlers>;
  attach(executor: E): void;
}

/** Who is in: the endpoint, and the inference requests being answered. */
class House<E extends Executor, H extends Required<ExecutorHandlers>> {
  readonly endpoint: ServedEndpoint<E, H>;
  readonly context: HttpContext;
  readonly loopDelay = new LoopDelay();
  #isDraining = false;
  #inferCount = 0;
  #onEmpty: () => void = () => {};

  constructor(
    options: ServedOptions,
    limits: ServerLimits,
    endpointOf: (onWorkerLost: (worker: number, reason: string) => void) => ServedEndpoint<E, H>,
  ) {
    const { onWorkerLost, bundle, nowMs, loopNowMs, version, epochOffsetMs = 0 } = options;
    this.endpoint = endpointOf((worker, reason) => {
      if (!this.#isDraining) onWorkerLost?.(worker, reason);
    });
    const connections = new Connections(limits);
    const budget = new ByteBudget(limits.maxBytesInFlight);
    const models = hostedModels(this.endpoint, limits);
    const counts = new RequestCounts();
    this.context = {
      pace: limits,
      endpoint: this.endpoint,
      models,
      budget,
      turnShare: new TurnShare(),
      jsonThread: new JsonThread(models.map(readModelOf)),
      connections,
      metricsText: () =>
        serverMetricsText(this.loopDelay, budget) + connections.metricsText() + counts.text(),
      inferred: inferredModels(models),
      lag: new LoopLag(loopNowMs),
      counts,
      gate: new Gate(limits.maxPending, workerCountOf(bundle.cluster)),
      version,
      nowMs,
      epochOffsetMs,
      sloMs: bundle.slo.latencyMs,
      isDraining: () => this.#isDraining,
      onInfer: (change) => {
        this.#inferCount += change;
        if (this.#inferCount === 0) this.#onEmpty();
      },
    };
  }

  /**
   * Workers may be ready before the executor is there to be called, so what they tell waits until
   * it is.
   */
  async openWorkers(executorFactory: (handlers: H) => E | Promise<E>): Promise<E> {
    const { endpoint } = this;
    let early: (() => void)[] | undefined = [];
    const executor = await executorFactory(
      deferred(endpoint.handlers, (act) => {
        if (early === undefined) act();
        else early.push(act);
      }),
    );
    endpoint.attach(executor);
    const waiting = early;
    early = undefined;
    for (const act of waiting) act();
    return executor;
  }

  /** Nothing is left that runs. */
  async close(): Promise<void> {
    this.loopDelay.stop();
    await this.context.jsonThread.close();
  }

  /**
   * Refuses new inference and waits for the accepted.
   * @returns whether all of it was answered in time.
   */
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

/** Nothing but what can be sent to a thread. */
function readModelOf({ model, limits }: HostedModel): ReadModel {
  const { names, inputs, outputs, variants, answersByRow } = model.signature;
  const signature = {
    names,
    inputs: inputs.map(({ name, datatype, rowShape }) => ({ name, datatype, rowShape })),
    outputs: outputs.map(({ name, datatype, rowShape, isInternal = false }) => {
      return { name, datatype, rowShape, isInternal };
    }),
    variants: variants.map(({ name }) => ({ name })),
    answersByRow: answersByRow === true,
  };
  return { signature, maxRows: limits.maxRows, parts: limits.parts };
}

/** The same handlers, called by way of `tell`. */
function deferred<H extends object>(handlers: H, tell: (act: () => void) => void): H {
  const entries = Object.entries(handlers).map(([name, handler]) => [
    name,
    (...args: unknown[]) => tell(() => handler(...args)),
  ]);
  return Object.fromEntries(entries);
}

function workerCountOf({ pools }: Cluster): number {
  return pools.reduce((count, { workers }) => count + workers, 0);
}
