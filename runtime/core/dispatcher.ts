import type { Bundle } from "../bundle/schema.ts";
import { assert } from "./assert.ts";
import { RoundRobinBalancer } from "./balancer.ts";
import { type CommandBuffer, DROP_NO_WORKER, DROP_QUEUE_FULL } from "./command-buffer.ts";
import { LevelChoice } from "./level-choice.ts";
import { LoadMonitor } from "./load-monitor.ts";
import { PolicyTable } from "./policy-table.ts";
import { DeadlineQueues } from "./queue.ts";

/**
 * Deadline minus now is rounded, so a query that has just arrived may seem to have an ulp less than the whole SLO left and fall into the
 * column below. A nanosecond, far above such rounding and far below a service time, is added to every slack.
 */
const SLACK_ROUNDING_MS = 1e-6;

/** What a worker is doing. */
const DOWN = 0;
const IDLE = 1;
const BUSY = 2;

export interface DispatcherOptions {
  /** Whether every worker is up from the start; otherwise each is once it is said to be ready. */
  readonly ready: boolean;
}

/**
 * Every decision of a cluster that serves one task: which worker gets a query, when a worker starts a batch, of what size, on which variant.
 *
 * A state machine without clock, timer or memory of its own making: a driver hands it events in the order of their times and carries out the
 * commands it appends. `simulate` and `serve` are two drivers of this class, so what is simulated is what ships. A worker decides when it is
 * idle and receives a query, and when its batch is done and others wait; it is never idle while queries wait. Nothing is allocated after
 * construction, and the same events give the same commands.
 */
export class Dispatcher {
  readonly workerCount: number;
  /** Queries that wait for one worker at most; one that finds its queue full is dropped. */
  readonly queueCapacity: number;
  readonly #table: PolicyTable;
  readonly #balancer: RoundRobinBalancer;
  readonly #queues: DeadlineQueues;
  readonly #monitor = new LoadMonitor();
  readonly #levelChoice: LevelChoice;
  readonly #stateByWorker: Uint8Array;

  constructor(table: PolicyTable, workerCount: number, { ready }: DispatcherOptions) {
    this.workerCount = workerCount;
    this.queueCapacity = table.queueCapacity;
    this.#table = table;
    this.#balancer = new RoundRobinBalancer(workerCount);
    this.#queues = new DeadlineQueues(workerCount, table.queueCapacity);
    this.#levelChoice = new LevelChoice(table.levelLoadQps);
    this.#stateByWorker = new Uint8Array(workerCount).fill(ready ? IDLE : DOWN);
  }

  /** The dispatcher of a validated bundle, one worker for each in its pools. */
  static fromBundle(bundle: Bundle, options: DispatcherOptions = { ready: true }): Dispatcher {
    let workerCount = 0;
    for (const pool of bundle.cluster.pools) workerCount += pool.workers;
    return new Dispatcher(PolicyTable.fromBundle(bundle), workerCount, options);
  }

  /** Commands that one event appends at most, and queries of all of them. */
  get commandCapacity(): number {
    return this.queueCapacity;
  }

  /**
   * A query has arrived; appends at most one command, with at most `queueCapacity` queries.
   * @param query the driver's name for it: an unsigned 32-bit integer no other query in the cluster has.
   * @param deadlineMs arrival time plus SLO, or earlier.
   */
  onArrival(query: number, deadlineMs: number, nowMs: number, out: CommandBuffer): void {
    this.#place(query, deadlineMs, nowMs, out);
    // Counted last: an arrival that counted itself would see a load higher than the true one.
    this.#monitor.recordArrival(nowMs);
  }

  /** The batch a worker ran is done; appends at most one command, with at most `queueCapacity` queries. */
  onBatchDone(worker: number, nowMs: number, out: CommandBuffer): void {
    assert(this.#stateByWorker[worker] === BUSY, "a worker that is done was busy");
    this.#stateByWorker[worker] = IDLE;
    if (this.#queues.length(worker) > 0) this.#startBatch(worker, nowMs, out);
  }

  /** A worker has come up, for the first time or again; appends nothing. */
  onWorkerReady(worker: number): void {
    assert(this.#stateByWorker[worker] === DOWN, "a worker that comes up was down");
    this.#stateByWorker[worker] = IDLE;
  }

  /**
   * A worker has gone down. What it ran is the driver's to answer for; what waited for it goes to the workers that are up, as if it arrived now
   * with the deadlines it has. Appends at most `queueCapacity` commands, of one query each.
   */
  onWorkerLost(worker: number, nowMs: number, out: CommandBuffer): void {
    assert(this.#stateByWorker[worker] !== DOWN, "a worker that goes down was up");
    this.#stateByWorker[worker] = DOWN;
    const queues = this.#queues;
    while (queues.length(worker) > 0) {
      const deadlineMs = queues.earliestDeadlineMs(worker);
      this.#place(queues.take(worker), deadlineMs, nowMs, out);
    }
  }

  /** A query is no longer wanted. @returns whether it waited; one that runs or is unknown is left alone. */
  onCancel(query: number): boolean {
    return this.#queues.remove(query);
  }

  /** Gives a query to the next worker that is up, or gives it up. */
  #place(query: number, deadlineMs: number, nowMs: number, out: CommandBuffer): void {
    const worker = this.#nextWorker();
    if (worker < 0) {
      out.drop(0, query, DROP_NO_WORKER);
    } else if (this.#queues.length(worker) === this.queueCapacity) {
      out.drop(worker, query, DROP_QUEUE_FULL);
    } else {
      this.#queues.insert(worker, query, deadlineMs);
      if (this.#stateByWorker[worker] === IDLE) this.#startBatch(worker, nowMs, out);
    }
  }

  /** The balancer's next worker that is up, −1 if none is. */
  #nextWorker(): number {
    for (let tried = 0; tried < this.workerCount; tried++) {
      const worker = this.#balancer.next();
      if (this.#stateByWorker[worker] !== DOWN) return worker;
    }
    return -1;
  }

  /** Decides for an idle worker whose queue is not empty. */
  #startBatch(worker: number, nowMs: number, out: CommandBuffer): void {
    const table = this.#table;
    const queues = this.#queues;
    const monitor = this.#monitor;
    const level = this.#levelChoice.update(monitor.loadQps(nowMs), monitor.windowMs(nowMs), nowMs);
    const queued = queues.length(worker);
    const slackMs = queues.earliestDeadlineMs(worker) - nowMs + SLACK_ROUNDING_MS;
    const action = table.lookup(level, queued, slackMs);
    const batch = Math.min(table.batch(action), queued);
    assert(batch > 0, "a batch holds at least one query");
    out.startBatch(worker, table.variant(action), level);
    for (let taken = 0; taken < batch; taken++) out.appendQuery(queues.take(worker));
    this.#stateByWorker[worker] = BUSY;
  }
}
