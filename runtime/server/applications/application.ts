/** An application on a server: its endpoint, its workers, and the requests that it admits. */
import type { MetricLine } from "../../base/exposition.ts";
import type { Notice } from "../../base/notice.ts";
import type { Bundle, Cluster } from "../../bundle/schema.ts";
import { Admission, LOW_SHARE } from "../../core/admission.ts";
import type { Executor, ExecutorHandlers } from "../../exec/models/executor.ts";
import type { LabelledAnswers, PromiseState } from "../measures/facts.ts";
import type { Endpoint, EndpointModel } from "../requests/endpoint.ts";
import type { RecordedEntry } from "../requests/recorded-entry.ts";
import type { Outcome } from "../requests/request.ts";
import { DEFAULT_LIMITS, type ServerLimits } from "./limits.ts";

/** Options that applications of all methods share. */
export interface ApplicationOptions {
  readonly bundleSha256: string;
  /** Monotonic clock, ms. */
  readonly nowMs: () => number;
  readonly limits?: Partial<ServerLimits>;
  /** Called with the reason when a worker is lost. */
  readonly onWorkerLost?: (worker: number, reason: string) => void;
  /** Called with messages for operators, such as an added level. */
  readonly onNotice?: Notice;
  /** Metrics of the workers that do not depend on the method. Default: none. */
  readonly workerLines?: () => readonly MetricLine[];
  /**
   * Called with every event just before the core processes it, then with the commands that answer
   * it. Must not throw, and must be as quick as a decision. Declared as a method, so that
   * implementations may accept the entries of one method only.
   */
  recorder?(entry: RecordedEntry): void;
}

/** Parts of an application that differ between methods. */
export interface Opening<E extends Executor, H extends Required<ExecutorHandlers>> {
  readonly bundle: Bundle;
  /** Maximum number of rows that wait or run. Default: that of the limits. */
  readonly maxPending?: number;
  readonly endpointOf: (
    maxPending: number,
    onWorkerLost: (worker: number, reason: string) => void,
  ) => ServedEndpoint<E, H>;
  /** Makes the executor, whose workers may be ready at once. Called when the server listens. */
  readonly executorFactory: (handlers: H) => E | Promise<E>;
}

/** An endpoint for one kind of executor, with the handlers of its events. */
export interface ServedEndpoint<E extends Executor, H extends ExecutorHandlers> extends Endpoint {
  readonly handlers: H & Required<ExecutorHandlers>;
  attach(executor: E): void;
}

/** @throws what making the endpoint throws. */
export function applicationOf<E extends Executor, H extends Required<ExecutorHandlers>>(
  options: ApplicationOptions,
  { bundle, endpointOf, executorFactory, maxPending: usual }: Opening<E, H>,
): Application {
  const { maxPending = usual ?? DEFAULT_LIMITS.maxPending } = options.limits ?? {};
  let application: Application | undefined;
  const endpoint = endpointOf(maxPending, (worker, reason) => {
    if (application?.isDraining !== true) options.onWorkerLost?.(worker, reason);
  });
  application = new Application({
    bundle,
    endpoint,
    limits: { ...DEFAULT_LIMITS, ...options.limits, maxPending },
    workerLines: options.workerLines ?? (() => []),
    onNotice: options.onNotice ?? (() => {}),
    attachExecutor: () => attachExecutor(endpoint, executorFactory),
  });
  return application;
}

/** Workers may be ready before the executor can be called, so their events wait until it exists. */
async function attachExecutor<E extends Executor, H extends Required<ExecutorHandlers>>(
  endpoint: ServedEndpoint<E, H>,
  executorFactory: Opening<E, H>["executorFactory"],
): Promise<E> {
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

/** State that a feature adds to one application. */
export interface ApplicationPart {
  /** Metrics of the feature; those without an `application` label get it from the application. */
  lines?(): readonly MetricLine[];
  promises?(): readonly PromiseState[];
  labelled?(): readonly LabelledAnswers[];
  close?(): void;
}

interface ApplicationParts
  extends Pick<Application, "endpoint" | "limits" | "workerLines" | "onNotice"> {
  readonly bundle: Bundle;
  readonly attachExecutor: () => Promise<Executor>;
}

export class Application {
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly gate: Gate;
  readonly sloMs: number;
  readonly limits: ServerLimits;
  /** Metrics of the workers that do not depend on the method. */
  readonly workerLines: () => readonly MetricLine[];
  /** Reports messages for operators. */
  readonly onNotice: Notice;
  readonly #attachExecutor: () => Promise<Executor>;
  #executor: Executor | undefined;
  #isDraining = false;
  #inside = 0;
  readonly #onEmpty: (() => void)[] = [];
  #parts: readonly ApplicationPart[] = [];

  constructor({ bundle, ...parts }: ApplicationParts) {
    this.name = bundle.application;
    this.endpoint = parts.endpoint;
    this.limits = parts.limits;
    this.workerLines = parts.workerLines;
    this.onNotice = parts.onNotice;
    this.sloMs = bundle.slo.latencyMs;
    this.gate = new Gate(this.limits.maxPending, workerCountOf(bundle.cluster), this.sloMs);
    this.#attachExecutor = parts.attachExecutor;
  }

  /** Whether it accepts no new requests; lost workers are not reported then. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  partLines(): MetricLine[] {
    return this.#parts.flatMap((part) => part.lines?.() ?? []);
  }

  /** State of the bundle's promises; empty where no feature watches them. */
  promises(): PromiseState[] {
    return this.#parts.flatMap((part) => part.promises?.() ?? []);
  }

  /** Accuracy on answers with known truth, at most one entry per variant. */
  labelled(): LabelledAnswers[] {
    return this.#parts.flatMap((part) => part.labelled?.() ?? []);
  }

  /** Takes what features add, which it closes. */
  join(parts: readonly ApplicationPart[]): void {
    this.#parts = parts;
  }

  /** Starts its workers, once. @throws what making the executor throws. */
  async openWorkers(): Promise<void> {
    this.#executor = await this.#attachExecutor();
  }

  /** Called for each inference request to one of its models. */
  enter(): void {
    this.#inside++;
  }

  leave(): void {
    this.#inside--;
    if (this.#inside > 0) return;
    for (const resolve of this.#onEmpty.splice(0)) resolve();
  }

  /** Kept once no request is in. */
  emptied(): Promise<void> {
    if (this.#inside === 0) return Promise.resolve();
    return new Promise((resolve) => void this.#onEmpty.push(resolve));
  }

  /** Stops new work; accepted work continues. */
  drain(): void {
    this.#isDraining = true;
    this.endpoint.drain();
  }

  /** Ends its workers, if they were started. */
  async close(): Promise<void> {
    await this.#executor?.close();
    for (const part of this.#parts) part.close?.();
  }
}

/** Wraps handlers so that they are called through `tell`. */
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

interface EntryTimes {
  readonly arrivalMs: number;
  readonly sloMs: number;
}

/** An admitted request. */
export interface Entry extends EntryTimes {
  /** 0 of one that makes no crowd. */
  readonly queries: number;
  readonly found: number;
}

/** Admission control of an endpoint. All its models share one, since they share its workers. */
export class Gate {
  readonly #admission: Admission;

  /** @param maxPending maximum number of rows that wait or run. @param workers of the cluster. */
  constructor(maxPending: number, workers: number, sloMs: number) {
    this.#admission = new Admission({ maxLimit: maxPending, workers, sloMs });
  }

  /** Whether every new request to the model must be rejected. */
  isShut(model: EndpointModel): boolean {
    return model.isFull === undefined ? !this.#admission.hasRoom() : model.isFull();
  }

  /** Whether a request that was read is admitted. */
  admits(model: EndpointModel, rows: number, isHigh: boolean): boolean {
    if (model.isFull !== undefined) return true;
    // Low-priority requests are dropped in time, so they are admitted wherever other requests are.
    if (model.givesUpLow === true) return this.#admission.hasRoom();
    return this.#admission.hasRoom(queriesOf(model, rows), isHigh ? 1 : LOW_SHARE);
  }

  enter(
    model: EndpointModel,
    rows: number,
    isHigh: boolean,
    times: EntryTimes,
    nowMs: number,
  ): Entry {
    const queries = model.givesUpLow === true && !isHigh ? 0 : queriesOf(model, rows);
    return { queries, found: this.#admission.enter(queries, nowMs), ...times };
  }

  leave({ queries, found, arrivalMs, sloMs }: Entry, outcome: Outcome, nowMs: number): void {
    if (queries === 0) return;
    const share = (nowMs - arrivalMs) / sloMs;
    if (outcome.kind === "answered") {
      this.#admission.leave(queries, found, share, nowMs);
    } else if (outcome.reason === "late") {
      this.#admission.leave(queries, found, Math.max(1, share), nowMs);
    } else this.#admission.forget(queries, nowMs);
  }
}

/**
 * A large request that is one query is late because of its own size, which says nothing about other
 * requests.
 */
function queriesOf({ isWhole }: EndpointModel, rows: number): number {
  return isWhole === true ? 1 : rows;
}
