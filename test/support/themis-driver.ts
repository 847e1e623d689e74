import type { ThemisBundle } from "../../runtime/bundle/schema.ts";
import {
  ASSIGN,
  CommandBuffer,
  DROP,
  DROP_LATE,
  DROP_NO_WORKER,
  DROP_QUEUE_FULL,
  RELEASE,
  RESIZE,
  START_BATCH,
} from "../../runtime/core/command-buffer.ts";
import { NO_PARENT } from "../../runtime/core/graph/pipeline-dispatcher.ts";
import {
  type ThemisDispatcher,
  type ThemisDispatcherOptions,
  themisDispatcherOf,
} from "../../runtime/methods/themis/core/themis-dispatcher.ts";

export interface DrivenInstance {
  readonly task: number;
  /** 0 until it is up. */
  inForce: number;
  wanted: number;
  /** Whether RESIZE is to be answered. */
  isResizing: boolean;
}

interface DrivenQuery {
  readonly task: number;
  readonly bornMs: number;
  readonly deadlineMs: number;
}

export interface StartedBatch {
  readonly worker: number;
  readonly task: number;
  readonly level: number;
  readonly queries: readonly number[];
  readonly nowMs: number;
}

export interface DroppedQuery {
  readonly query: number;
  readonly reason: number;
  readonly ageMs: number;
}

/**
 * A driver of scaled stages that a test steers by hand. It keeps a record of everything, and checks
 * what every driver relies on: a batch starts on an idle instance of the task, of the queries that
 * wait longest and are not too old; what is dropped waited, or has just come; instances come from
 * workers that are up and idle, have cores, and only those that there are get others.
 */
export class ThemisDriver {
  readonly dispatcher: ThemisDispatcher;
  readonly log: string[] = [];
  readonly started: StartedBatch[] = [];
  readonly dropped: DroppedQuery[] = [];
  readonly cancelled: number[] = [];
  readonly served: number[] = [];
  readonly lost: number[] = [];
  /** Handed in, in order. */
  readonly queries: number[] = [];
  /** By task: queries that wait, in the order in which they came. */
  readonly queues: number[][];
  readonly isUp: boolean[];
  readonly instances = new Map<number, DrivenInstance>();
  readonly running = new Map<number, readonly number[]>();
  nowMs = 0;
  readonly #bundle: ThemisBundle;
  readonly #out: CommandBuffer;
  readonly #byQuery = new Map<number, DrivenQuery>();
  /** Names are given again, as a driver's: only what waits or runs keeps its own. */
  readonly #freeNames: number[];
  readonly #nameOf = new Map<number, number>();
  readonly #queryOf = new Map<number, number>();

  constructor(bundle: ThemisBundle, options: Partial<ThemisDispatcherOptions> = {}) {
    const { queryCapacity = 8192 } = options;
    this.#bundle = bundle;
    this.dispatcher = themisDispatcherOf(bundle, { queryCapacity, ...options });
    this.#out = new CommandBuffer(this.dispatcher.commandCapacity, queryCapacity);
    this.queues = bundle.tasks.map(() => []);
    this.isUp = Array<boolean>(this.dispatcher.workerCount).fill(false);
    this.#freeNames = Array.from({ length: queryCapacity }, (_, name) => queryCapacity - 1 - name);
  }

  get workers(): number[] {
    return this.isUp.map((_, worker) => worker);
  }

  get waitingCount(): number {
    return this.queues.reduce((sum, queue) => sum + queue.length, 0);
  }

  ofTask(task: number): DrivenInstance[] {
    return this.workers.flatMap((worker) => {
      const instance = this.instances.get(worker);
      return instance?.task === task ? [instance] : [];
    });
  }

  /** By task: cores that instances have or are to have, whichever is more. */
  get held(): number[] {
    return this.#bundle.tasks.map((_, task) =>
      sum(this.ofTask(task).map(({ inForce, wanted }) => Math.max(inForce, wanted))),
    );
  }

  /** Of each instance: its task, cores in force and wanted ones, "0" in force until it is up. */
  get placed(): string[] {
    return this.#bundle.tasks.map(({ name }, task) =>
      [
        name,
        ...this.ofTask(task).map(({ inForce, wanted }) =>
          inForce === wanted ? `${inForce}` : `${inForce}>${wanted}`,
        ),
      ].join(" "),
    );
  }

  /** Every worker comes up, and every instance at once. */
  start(): this {
    for (const worker of this.workers) this.comeUp(worker);
    this.finishLoads();
    return this;
  }

  comeUp(worker: number): void {
    if (this.isUp[worker] !== false) return;
    this.isUp[worker] = true;
    this.dispatcher.onWorkerReady(worker, this.nowMs, this.#out);
    this.#carryOut();
    this.endEvent();
  }

  finishLoads(): void {
    for (const worker of this.workers) this.finishLoad(worker);
  }

  finishLoad(worker: number): void {
    const instance = this.instances.get(worker);
    if (instance === undefined || instance.inForce > 0) return;
    instance.inForce = instance.wanted;
    this.dispatcher.onModelReady(worker, this.nowMs, this.#out);
    this.#carryOut();
    this.endEvent();
  }

  finishResizes(): void {
    for (const worker of this.workers) this.finishResize(worker);
  }

  finishResize(worker: number): void {
    const instance = this.instances.get(worker);
    if (instance === undefined || !instance.isResizing || instance.inForce === 0) return;
    instance.isResizing = false;
    instance.inForce = instance.wanted;
    this.dispatcher.onResized(worker, this.nowMs, this.#out);
    this.#carryOut();
    this.endEvent();
  }

  /**
   * Requests come, each a query of the task. The event is over with `endEvent`.
   * @param sloMs until the deadline; left out, the bundle's.
   */
  request(task = 0, count = 1, sloMs = this.#bundle.slo.latencyMs): void {
    for (let n = 0; n < count; n++) {
      this.dispatcher.onRequest(this.nowMs);
      this.handIn(task, sloMs);
    }
  }

  /** A query of a request that is counted already. */
  handIn(task: number, sloMs = this.#bundle.slo.latencyMs): void {
    const name = this.#freeNames.pop();
    if (name === undefined) throw new Error("there are names for all");
    const query = this.queries.length;
    const deadlineMs = this.nowMs + sloMs;
    this.queries.push(query);
    this.#byQuery.set(query, { task, bornMs: this.nowMs, deadlineMs });
    this.#nameOf.set(query, name);
    this.#queryOf.set(name, query);
    this.queues[task]?.push(query);
    this.dispatcher.onQuery(name, task, NO_PARENT, deadlineMs, this.nowMs, this.#out);
    this.#carryOut();
  }

  /** The batch of a busy worker ends. @param ranMs time in the worker; left out if not known. */
  finish(worker: number, ranMs?: number): void {
    const batch = this.running.get(worker);
    if (batch === undefined) return;
    this.running.delete(worker);
    this.dispatcher.onBatchDone(worker, this.nowMs, this.#out, ranMs);
    this.#carryOut();
    this.served.push(...batch);
    for (const query of batch) this.#forget(query);
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
    const { task = 0 } = this.#byQuery.get(query) ?? {};
    const place = this.queues[task]?.indexOf(query) ?? -1;
    const waited = this.dispatcher.onCancel(this.#nameOf.get(query) ?? 0xffff);
    if (this.#nameOf.has(query)) check(waited === place >= 0, "exactly what waits is cancelled");
    if (place < 0) return false;
    this.queues[task]?.splice(place, 1);
    this.cancelled.push(query);
    this.#forget(query);
    return true;
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

  /**
   * Requests come evenly, are served at once, and cold starts and resizes take no time.
   * @param durationMs from now on.
   */
  serveEvenly(qps: number, durationMs: number, isInstant = true): void {
    const startMs = this.nowMs;
    const count = Math.round((qps * durationMs) / 1000);
    for (let n = 0; n < count; n++) {
      this.passTo(startMs + (n * 1000) / qps);
      this.request();
      this.endEvent();
      for (const worker of [...this.running.keys()]) this.finish(worker);
      this.endEvent();
      if (isInstant) this.#finishAll();
    }
    this.passTo(startMs + durationMs);
    if (isInstant) this.#finishAll();
  }

  #finishAll(): void {
    this.finishLoads();
    this.finishResizes();
  }

  #goDown(worker: number): void {
    if (this.isUp[worker] !== true) return;
    const lost = this.running.get(worker) ?? [];
    this.isUp[worker] = false;
    this.running.delete(worker);
    this.instances.delete(worker);
    this.dispatcher.onWorkerLost(worker, this.nowMs, this.#out);
    this.#carryOut();
    this.lost.push(...lost);
    for (const query of lost) this.#forget(query);
  }

  #forget(query: number): void {
    const name = this.#nameOf.get(query);
    if (name === undefined) throw new Error("a query ends once");
    this.#nameOf.delete(query);
    this.#queryOf.delete(name);
    this.#freeNames.push(name);
  }

  #carryOut(): void {
    const out = this.#out;
    for (let command = 0; command < out.count; command++) {
      const kind = out.kind(command);
      const worker = out.worker(command);
      if (kind === START_BATCH) this.#startBatch(command, worker);
      else if (kind === DROP) this.#drop(command);
      else this.#scale(kind, worker, out.cores(command), out.variant(command));
    }
    out.clear();
    check(!Number.isNaN(this.dispatcher.wakeMs), "a time to wake up at is a time");
  }

  #scale(kind: number, worker: number, cores: number, task: number): void {
    const instance = this.instances.get(worker);
    check(this.isUp[worker] === true, "who is scaled is up");
    if (kind === RESIZE) {
      check(instance !== undefined && cores > 0, "who is resized is an instance");
      check(instance?.wanted !== cores, "to other cores");
      if (instance !== undefined) Object.assign(instance, { wanted: cores, isResizing: true });
      this.log.push(`resize ${worker} ${cores}`);
      return;
    }
    check(!this.running.has(worker), "who starts or stops runs no batch");
    this.instances.delete(worker);
    if (kind === ASSIGN) {
      check(cores > 0, "an instance has cores");
      this.instances.set(worker, { task, inForce: 0, wanted: cores, isResizing: false });
      this.log.push(`assign ${worker} ${task} ${cores}`);
      return;
    }
    check(kind === RELEASE && instance !== undefined, "who is released was an instance");
    this.log.push(`release ${worker}`);
  }

  #drop(command: number): void {
    const out = this.#out;
    check(out.queryCount(command) === 1, "one query is dropped at a time");
    const query = this.#queryOf.get(out.query(command, 0)) ?? -1;
    const { task = 0, bornMs = Number.NaN } = this.#byQuery.get(query) ?? {};
    const queue = this.queues[task] ?? [];
    const reason = out.reason(command);
    check([DROP_QUEUE_FULL, DROP_NO_WORKER, DROP_LATE].includes(reason), "for a reason");
    const place = queue.indexOf(query);
    check(place >= 0, "what is dropped waited, or has just come");
    // Where the rest of the way counts, any time may be too late.
    const isLate = this.#bundle.policy.dropRule === "rest" || this.#isLate(query);
    if (reason === DROP_LATE) check(isLate, "only who is late is dropped for it");
    queue.splice(place, 1);
    this.dropped.push({ query, reason, ageMs: this.nowMs - bornMs });
    this.log.push(`drop ${query} ${reason}`);
    this.#forget(query);
  }

  /** Whether a query is too old to be served. */
  #isLate(query: number): boolean {
    const { policy, slo } = this.#bundle;
    const { deadlineMs = Number.NaN } = this.#byQuery.get(query) ?? {};
    const sloCount = policy.dropAfterSlos ?? Number.POSITIVE_INFINITY;
    return this.nowMs >= deadlineMs + (sloCount - 1) * slo.latencyMs;
  }

  #startBatch(command: number, worker: number): void {
    const out = this.#out;
    const queries = Array.from(
      { length: out.queryCount(command) },
      (_, position) => this.#queryOf.get(out.query(command, position)) ?? -1,
    );
    const task = out.variant(command);
    const instance = this.instances.get(worker);
    check(instance?.task === task && instance.inForce > 0, "an instance of the task is up");
    check(!this.running.has(worker), "and idle");
    const next = this.queues[task]?.splice(0, queries.length) ?? [];
    check(queries.length > 0 && next.join() === queries.join(), "those that wait longest first");
    check(!queries.some((query) => this.#isLate(query)), "and none that is late");
    this.running.set(worker, queries);
    const level = out.level(command);
    this.started.push({ worker, task, level, queries, nowMs: this.nowMs });
    this.log.push(`start ${worker} ${task} ${queries.join(",")}`);
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** `expect` takes too long for so many events. */
function check(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}
