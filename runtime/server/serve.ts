/** A server from its listening to its close, whatever answers in it. */
import type { Bundle, Cluster } from "../bundle/schema.ts";
import type { Executor, ExecutorHandlers } from "../exec/executor.ts";
import { type HttpContext, hostedModels, inferredModels, isReady } from "./context.ts";
import type { Endpoint } from "./endpoint.ts";
import { Gate } from "./gate.ts";
import { type ConnectionLimits, closeServer, listen, serverOf, urlOf } from "./listening.ts";
import { LoopLag } from "./loop-lag.ts";
import { RequestCounts } from "./request-counts.ts";

export interface ServerLimits extends ConnectionLimits {
  /** Of a request's body, compressed and not. */
  readonly maxBodyBytes: number;
  /** Rows of one request, where its model has no limit of its own. */
  readonly maxRows: number;
  /** Rows of requests that wait or run. */
  readonly maxPending: number;
  readonly bodyTimeoutMs: number;
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
  const server = serverOf(house.context, limits);
  await listen(server, host, port);
  let executor: Executor;
  try {
    executor = await house.openWorkers(executorFactory);
  } catch (error) {
    await closeServer(server);
    throw error;
  }
  const { endpoint } = house;
  let closing: Promise<void> | undefined;
  const close = async () => {
    endpoint.drain();
    const isEmptied = await house.drain(limits.drainTimeoutMs);
    const closed = closeServer(server);
    if (!isEmptied) endpoint.abort();
    await executor.close();
    await closed;
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
    const models = hostedModels(this.endpoint, limits.maxRows);
    this.context = {
      ...limits,
      endpoint: this.endpoint,
      models,
      inferred: inferredModels(models),
      lag: new LoopLag(loopNowMs),
      counts: new RequestCounts(),
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
