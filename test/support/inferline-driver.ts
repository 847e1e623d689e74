import type { InferlineBundle } from "../../runtime/bundle/schema.ts";
import {
  ASSIGN,
  CommandBuffer,
  DROP,
  RELEASE,
  START_BATCH,
} from "../../runtime/core/command-buffer.ts";
import { NO_PARENT } from "../../runtime/core/graph/pipeline-dispatcher.ts";
import { REQUESTS, taskGraphOf } from "../../runtime/core/graph/task-graph.ts";
import { VisitProgress } from "../../runtime/core/graph/visit-progress.ts";
import {
  type InferlineDispatcherOptions,
  inferlineDispatcherOf,
} from "../../runtime/methods/inferline/core/inferline-dispatcher.ts";
import type { ReplicaTuner } from "../../runtime/methods/inferline/core/replica-tuner.ts";

export type InferlineWorkerState = "down" | "off" | "loading" | "ready" | "busy";

const CAPACITY = 8192;

/**
 * A driver of provisioned stages that a test steers by hand. It keeps a record of everything, and
 * checks what every driver relies on: a batch starts on a ready worker that holds the model of its
 * task, within the largest batch, of the queries that wait longest; models are loaded by workers
 * that are up and not busy; no query is lost.
 */
export class InferlineDriver {
  readonly dispatcher;
  readonly progress: VisitProgress;
  readonly log: string[] = [];
  readonly states: InferlineWorkerState[];
  readonly models: (string | null)[];
  readonly running: number[][];
  /** Queries that wait at each task, in the order in which they came. */
  readonly queues: number[][];
  readonly dropped: number[] = [];
  /** Requests that were served to the end, and those that lost a query. */
  readonly done: number[] = [];
  readonly failed = new Set<number>();
  requests = 0;
  nowMs = 0;
  readonly #bundle: InferlineBundle;
  readonly #graph;
  readonly #out: CommandBuffer;
  readonly #variantNames: string[];
  readonly #poolByWorker: number[];
  readonly #taken = new Map<number, (edge: number) => boolean>();

  constructor(bundle: InferlineBundle, options: Partial<InferlineDispatcherOptions> = {}) {
    this.#bundle = bundle;
    this.#graph = taskGraphOf(bundle);
    this.dispatcher = inferlineDispatcherOf(bundle, { queryCapacity: CAPACITY, ...options });
    this.#out = new CommandBuffer(this.dispatcher.commandCapacity, CAPACITY);
    this.progress = new VisitProgress(this.#graph, CAPACITY);
    const { workerCount } = this.dispatcher;
    this.states = Array<InferlineWorkerState>(workerCount).fill("down");
    this.models = Array<string | null>(workerCount).fill(null);
    this.running = Array.from({ length: workerCount }, () => []);
    this.queues = bundle.tasks.map(() => []);
    this.#variantNames = bundle.tasks.flatMap(({ name, variants }) =>
      variants.map((variant) => `${name}/${variant.name}`),
    );
    this.#poolByWorker = bundle.cluster.pools.flatMap(({ workers }, pool) =>
      Array<number>(workers).fill(pool),
    );
  }

  get waitingCount(): number {
    return this.queues.reduce((sum, queue) => sum + queue.length, 0);
  }

  /**
   * Task names of the workers, "-" for one that is off, in brackets while it loads, with ! while it
   * is busy.
   */
  get placed(): string {
    return this.models
      .map((model, worker) => {
        const state = this.states[worker];
        const task = model?.split("/")[0];
        if (state === "down") return "x";
        if (task === undefined) return "-";
        return state === "loading" ? `(${task})` : state === "busy" ? `${task}!` : task;
      })
      .join(" ");
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
    this.endEvent();
  }

  finishLoads(): void {
    for (let worker = 0; worker < this.states.length; worker++) this.finishLoad(worker);
  }

  finishLoad(worker: number): void {
    if (this.states[worker] !== "loading") return;
    this.states[worker] = "ready";
    this.dispatcher.onModelReady(worker, this.nowMs, this.#out);
    this.#carryOut();
    this.endEvent();
  }

  /** A request comes. @returns its number. @param takes whether it takes an edge once it may. */
  request(takes: (edge: number) => boolean = () => true): number {
    const request = this.requests++;
    this.#taken.set(request, takes);
    this.dispatcher.onRequest(this.nowMs);
    this.progress.open(request);
    this.#settle(request, REQUESTS);
    this.#handIn(request);
    return request;
  }

  /** The batch of a busy worker ends. What follows from it is handed in. */
  finish(worker: number): void {
    if (this.states[worker] !== "busy") return;
    const served = this.running[worker] ?? [];
    this.running[worker] = [];
    this.states[worker] = "ready";
    this.dispatcher.onBatchDone(worker, this.nowMs, this.#out);
    this.#carryOut();
    for (const query of served) {
      const { taskCount } = this.#graph;
      const request = Math.floor(query / taskCount);
      this.progress.serve(request, query % taskCount);
      this.#settle(request, query % taskCount, query);
      this.#handIn(request);
    }
  }

  lose(worker: number): void {
    this.#goDown(worker);
    this.endEvent();
  }

  /** A worker is lost and there again in the same moment. */
  replace(worker: number): void {
    this.#goDown(worker);
    this.comeUp(worker);
  }

  cancel(query: number): boolean {
    const { taskCount } = this.#graph;
    const queue = this.queues[query % taskCount] ?? [];
    const place = queue.indexOf(query);
    if (place >= 0) queue.splice(place, 1);
    const waited = this.dispatcher.onCancel(query);
    check(waited === place >= 0, "exactly what waits can be cancelled");
    return waited;
  }

  /** Ends an event, or several at one time: what is left to be done at once is done. */
  endEvent(): void {
    if (this.dispatcher.wakeMs <= this.nowMs) this.wake();
  }

  wake(): void {
    this.dispatcher.onWake(this.nowMs, this.#out);
    this.#carryOut();
  }

  /** Time passes; the dispatcher is woken whenever it wants to be. */
  passTo(timeMs: number): void {
    while (this.dispatcher.wakeMs <= timeMs) {
      this.nowMs = Math.max(this.nowMs, this.dispatcher.wakeMs);
      this.wake();
    }
    this.nowMs = timeMs;
  }

  #goDown(worker: number): void {
    if (this.states[worker] === "down") return;
    const lost = this.running[worker] ?? [];
    this.states[worker] = "down";
    this.models[worker] = null;
    this.running[worker] = [];
    this.dispatcher.onWorkerLost(worker, this.nowMs, this.#out);
    this.#carryOut();
    for (const query of lost) this.#fail(query);
  }

  #settle(request: number, source: number, query: number | null = null): void {
    const { outStart, outEdge, childByEdge } = this.#graph;
    const takes = this.#taken.get(request) ?? (() => true);
    for (const edge of outEdge.subarray(outStart[source + 1], outStart[source + 2])) {
      const isTaken = takes(edge);
      if (query !== null) {
        this.dispatcher.onFanout(query, childByEdge[edge] ?? -1, isTaken ? 1 : 0);
      }
      this.progress.settle(request, edge, isTaken);
    }
  }

  #handIn(request: number): void {
    const ready = [...this.progress.readyTask.subarray(0, this.progress.readyCount)];
    this.progress.clearReady();
    for (const task of ready) {
      if (this.failed.has(request)) continue;
      const query = request * this.#graph.taskCount + task;
      this.queues[task]?.push(query);
      this.dispatcher.onQuery(query, task, NO_PARENT, 0, this.nowMs, this.#out);
      this.#carryOut();
    }
    if (this.progress.isDone(request) && !this.failed.has(request)) this.done.push(request);
  }

  #fail(query: number): void {
    const request = Math.floor(query / this.#graph.taskCount);
    this.failed.add(request);
    for (let task = 0; task < this.#graph.taskCount; task++) {
      this.cancel(request * this.#graph.taskCount + task);
    }
  }

  #carryOut(): void {
    const out = this.#out;
    const lost: number[] = [];
    for (let command = 0; command < out.count; command++) {
      const worker = out.worker(command);
      const kind = out.kind(command);
      const name = this.#variantNames[out.variant(command)] ?? "?";
      if (kind === START_BATCH) this.#startBatch(command, worker, name);
      else if (kind === DROP) lost.push(this.#dropped(command));
      else if (kind === ASSIGN) {
        const state = this.states[worker] ?? "down";
        check(["off", "loading", "ready"].includes(state), "who loads is up and idle");
        this.states[worker] = "loading";
        this.models[worker] = name;
        this.log.push(`assign ${worker} ${name}`);
      } else {
        check(kind === RELEASE, "a command is of a known kind");
        check(["loading", "ready"].includes(this.states[worker] ?? ""), "who is released is on");
        this.states[worker] = "off";
        this.models[worker] = null;
        this.log.push(`release ${worker}`);
      }
    }
    out.clear();
    for (const query of lost) this.#fail(query);
  }

  #dropped(command: number): number {
    const query = this.#out.query(command, 0);
    const queue = this.queues[query % this.#graph.taskCount] ?? [];
    const place = queue.indexOf(query);
    check(place >= 0, "what is dropped waited");
    queue.splice(place, 1);
    this.dropped.push(query);
    this.log.push(`drop ${query} ${this.#out.reason(command)}`);
    return query;
  }

  #startBatch(command: number, worker: number, name: string): void {
    const out = this.#out;
    const queries = Array.from({ length: out.queryCount(command) }, (_, i) =>
      out.query(command, i),
    );
    check(this.states[worker] === "ready", `worker ${worker} is ready for a batch`);
    check(this.models[worker] === name, `worker ${worker} holds ${name}`);
    const task = this.#bundle.tasks.findIndex((one) => name.startsWith(`${one.name}/`));
    const queue = this.queues[task] ?? [];
    const first = queue.splice(0, queries.length);
    check(
      first.join() === queries.join(),
      "the queries that wait longest at the task are served first",
    );
    const planned = this.#bundle.levels[out.level(command)]?.plan.stages[task]?.batch ?? 0;
    const profile = this.#bundle.tasks[task]?.variants.find(
      (variant) => name === `${this.#bundle.tasks[task]?.name}/${variant.name}`,
    )?.profiles[this.#poolByWorker[worker] ?? -1];
    const most = Math.min(planned, profile?.serviceTimes.decisionMs.data.length ?? 0);
    check(queries.length >= 1 && queries.length <= most, `a batch holds at most ${most}`);
    this.states[worker] = "busy";
    this.running[worker] = queries;
    this.log.push(`start ${worker} ${name} ${queries.join(",")}`);
  }
}

/** A tuner that does what a test says. */
export class ToldTuner implements ReplicaTuner {
  readonly targets: Uint32Array;
  recentMeanQps = Number.NaN;
  wakeMs = Number.POSITIVE_INFINITY;
  readonly followed: number[] = [];
  readonly #bundle: InferlineBundle;
  #isChanged = false;

  constructor(bundle: InferlineBundle, level = 0) {
    this.#bundle = bundle;
    this.targets = new Uint32Array(bundle.tasks.length);
    this.#plan(level);
  }

  /** The next request or tick brings these targets. */
  tell(...targets: number[]): void {
    this.targets.set(targets);
    this.#isChanged = true;
  }

  onArrival(): boolean {
    return this.#take();
  }

  tick(nowMs: number): boolean {
    this.wakeMs = nowMs + 1000;
    return this.#take();
  }

  follow(level: number): void {
    this.followed.push(level);
    this.#plan(level);
  }

  #take(): boolean {
    const isChanged = this.#isChanged;
    this.#isChanged = false;
    return isChanged;
  }

  #plan(level: number): void {
    const { stages } = this.#bundle.levels[level]?.plan ?? { stages: [] };
    for (const [task, { replicas }] of stages.entries()) this.targets[task] = replicas;
  }
}

function check(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}
