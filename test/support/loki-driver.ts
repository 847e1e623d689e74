import type { LokiBundle } from "../../runtime/bundle/schema.ts";
import { ASSIGN, CommandBuffer, DROP, START_BATCH } from "../../runtime/core/command-buffer.ts";
import { NO_PARENT } from "../../runtime/core/graph/pipeline-dispatcher.ts";
import { pipelineDispatcherOf } from "../../runtime/methods/loki/core/loki-dispatcher.ts";

export type WorkerState = "down" | "off" | "loading" | "ready" | "busy";

/**
 * A driver that a test steers by hand. It keeps a record of everything, and checks what every
 * driver relies on: that a batch starts on a ready worker that holds its variant, and holds only
 * queries that wait; that a model is loaded by a worker that is up and not busy; that no query is
 * lost.
 */
export class LokiDriver {
  readonly dispatcher;
  readonly log: string[] = [];
  readonly states: WorkerState[];
  readonly models: (string | null)[];
  readonly running: number[][];
  readonly waiting = new Set<number>();
  readonly dropped: number[] = [];
  /**
   * Queries that were admitted, and those that were served, dropped, cancelled or lost with their
   * worker.
   */
  came = 0;
  ended = 0;
  loads = 0;
  nowMs = 0;
  readonly #out: CommandBuffer;
  readonly #variantNames: string[];
  readonly #taskOf: Record<number, number> = {};
  readonly #bundle: LokiBundle;
  #query = 0;

  constructor(bundle: LokiBundle, options: { initialDemandQps?: number; capacity?: number } = {}) {
    const { capacity = 4096, ...rest } = options;
    this.#bundle = bundle;
    this.dispatcher = pipelineDispatcherOf(bundle, { queryCapacity: capacity, ...rest });
    this.#out = new CommandBuffer(this.dispatcher.commandCapacity, capacity);
    const { workerCount } = this.dispatcher;
    this.states = Array<WorkerState>(workerCount).fill("down");
    this.models = Array<string | null>(workerCount).fill(null);
    this.running = Array.from({ length: workerCount }, () => []);
    this.#variantNames = bundle.tasks.flatMap(({ name, variants }) =>
      variants.map((variant) => `${name}/${variant.name}`),
    );
  }

  /** Every worker comes up and gets its model at once. */
  start(): this {
    for (let worker = 0; worker < this.states.length; worker++) this.comeUp(worker);
    this.finishLoads();
    return this;
  }

  comeUp(worker: number): void {
    this.states[worker] = "off";
    this.dispatcher.onWorkerReady(worker, this.nowMs, this.#out);
    this.#carryOut();
  }

  finishLoads(): void {
    for (let worker = 0; worker < this.states.length; worker++) this.finishLoad(worker);
  }

  finishLoad(worker: number): void {
    if (this.states[worker] !== "loading") return;
    this.states[worker] = "ready";
    this.dispatcher.onModelReady(worker, this.nowMs, this.#out);
    this.#carryOut();
  }

  /**
   * An event that brings one query of a task: a request, or the end of the query that it is a child
   * of.
   * @returns its name, −1 if the request is not admitted.
   */
  query(task: number, deadlineMs: number, parent: number = NO_PARENT): number {
    const query = this.handIn(task, deadlineMs, parent);
    this.startBatches();
    return query;
  }

  /** As `query`, but one of several of an event: `startBatches` follows the last. */
  handIn(task: number, deadlineMs: number, parent: number = NO_PARENT): number {
    if (parent === NO_PARENT && !this.dispatcher.onRequest(this.nowMs)) return -1;
    const query = this.#query++ % 4000;
    this.#taskOf[query] = task;
    this.came++;
    this.waiting.add(query);
    this.dispatcher.onQuery(query, task, parent, deadlineMs, this.nowMs, this.#out);
    this.#carryOut();
    return query;
  }

  /** Ends an event: what it has left to be done at once is done. */
  startBatches(): void {
    if (this.dispatcher.wakeMs <= this.nowMs) this.wake();
  }

  /** @returns the queries that a busy worker has served. */
  finish(worker: number): number[] {
    if (this.states[worker] !== "busy") return [];
    const served = this.running[worker] ?? [];
    this.ended += served.length;
    this.running[worker] = [];
    this.states[worker] = "ready";
    this.dispatcher.onBatchDone(worker, this.nowMs, this.#out);
    this.#carryOut();
    return served;
  }

  lose(worker: number): void {
    if (this.states[worker] === "down") return;
    this.states[worker] = "down";
    this.models[worker] = null;
    this.ended += this.running[worker]?.length ?? 0;
    this.running[worker] = [];
    this.dispatcher.onWorkerLost(worker, this.nowMs, this.#out);
    this.#carryOut();
  }

  cancel(query: number): boolean {
    const waited = this.dispatcher.onCancel(query);
    check(waited === this.waiting.delete(query), "exactly what waits can be cancelled");
    if (waited) this.ended++;
    return waited;
  }

  wake(): void {
    this.dispatcher.onWake(this.nowMs, this.#out);
    this.#carryOut();
  }

  /** Worker that runs a query. */
  workerOf(query: number): number {
    return this.running.findIndex((queries) => queries.includes(query));
  }

  #carryOut(): void {
    const out = this.#out;
    for (let command = 0; command < out.count; command++) {
      const worker = out.worker(command);
      const kind = out.kind(command);
      const name = this.#variantNames[out.variant(command)] ?? "?";
      if (kind === START_BATCH) this.#startBatch(command, worker, name);
      else if (kind === DROP) {
        const query = out.query(command, 0);
        check(this.waiting.delete(query), "what is dropped waited");
        this.dropped.push(query);
        this.ended++;
        this.log.push(`drop ${query} ${out.reason(command)}`);
      } else if (kind === ASSIGN) {
        check(["off", "ready"].includes(this.states[worker] ?? ""), "who loads is up and idle");
        this.states[worker] = "loading";
        this.models[worker] = name;
        this.loads++;
        this.log.push(`assign ${worker} ${name}`);
      } else {
        check(this.states[worker] === "ready", "who is released was ready");
        this.states[worker] = "off";
        this.models[worker] = null;
        this.log.push(`release ${worker}`);
      }
    }
    out.clear();
  }

  #startBatch(command: number, worker: number, name: string): void {
    const out = this.#out;
    const queries = Array.from({ length: out.queryCount(command) }, (_, i) =>
      out.query(command, i),
    );
    check(this.states[worker] === "ready", `worker ${worker} is ready for a batch`);
    const stages = this.#bundle.levels.some((level) => level.stages !== null);
    check(stages || this.models[worker] === name, `worker ${worker} holds ${name}`);
    for (const query of queries) {
      check(this.waiting.delete(query), "what runs waited");
      const task = this.#bundle.tasks[this.#taskOf[query] ?? -1]?.name;
      check(name.startsWith(`${task}/`), "a query is served by its task");
    }
    this.states[worker] = "busy";
    this.running[worker] = queries;
    this.log.push(`start ${worker} ${name} ${queries.join(",")}`);
  }
}

function check(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}
