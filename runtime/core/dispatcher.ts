import type { Bundle } from "../bundle/schema.ts";
import { assert } from "./assert.ts";
import { RoundRobinBalancer } from "./balancer.ts";
import { type CommandBuffer, DROP_QUEUE_FULL } from "./command-buffer.ts";
import { DEFAULT_LEVEL_CHOICE, LevelChoice } from "./level-choice.ts";
import { LoadMonitor } from "./load-monitor.ts";
import { PolicyTable } from "./policy-table.ts";
import { DeadlineQueues } from "./queue.ts";

/**
 * Deadline minus now is rounded, so a query that has just arrived may seem to have an ulp less than the whole SLO left and fall into the
 * column below. A nanosecond, far above such rounding and far below a service time, is added to every slack.
 */
const SLACK_ROUNDING_MS = 1e-6;

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
  readonly #busyByWorker: Uint8Array;

  constructor(table: PolicyTable, workerCount: number, levelChoice = DEFAULT_LEVEL_CHOICE) {
    this.workerCount = workerCount;
    this.queueCapacity = table.queueCapacity;
    this.#table = table;
    this.#balancer = new RoundRobinBalancer(workerCount);
    this.#queues = new DeadlineQueues(workerCount, table.queueCapacity);
    this.#levelChoice = new LevelChoice(table.levelLoadQps, levelChoice);
    this.#busyByWorker = new Uint8Array(workerCount);
  }

  /** The dispatcher of a validated bundle, one worker for each in its pools. */
  static fromBundle(bundle: Bundle): Dispatcher {
    let workerCount = 0;
    for (const pool of bundle.cluster.pools) workerCount += pool.workers;
    return new Dispatcher(PolicyTable.fromBundle(bundle), workerCount);
  }

  /**
   * A query has arrived; appends at most one command, with at most `queueCapacity` queries.
   * @param query the driver's name for it: an unsigned 32-bit integer no other query in the cluster has.
   * @param deadlineMs arrival time plus SLO.
   */
  onArrival(query: number, deadlineMs: number, nowMs: number, out: CommandBuffer): void {
    const worker = this.#balancer.next();
    if (this.#queues.length(worker) === this.queueCapacity) {
      out.drop(worker, query, DROP_QUEUE_FULL);
    } else {
      this.#queues.insert(worker, query, deadlineMs);
      if (this.#busyByWorker[worker] === 0) this.#startBatch(worker, nowMs, out);
    }
    // Counted last: an arrival that counted itself would see a load higher than the true one.
    this.#monitor.recordArrival(nowMs);
  }

  /** The batch a worker ran is done; appends at most one command, with at most `queueCapacity` queries. */
  onBatchDone(worker: number, nowMs: number, out: CommandBuffer): void {
    assert(this.#busyByWorker[worker] === 1, "a worker that is done was busy");
    this.#busyByWorker[worker] = 0;
    if (this.#queues.length(worker) > 0) this.#startBatch(worker, nowMs, out);
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
    this.#busyByWorker[worker] = 1;
  }
}
