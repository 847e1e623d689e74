/** Interface of the dispatcher of a cluster that serves one task. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import type { CommandBuffer } from "../../../core/command-buffer.ts";
import type { LoadShare, SeenLoad } from "../../../core/load-share.ts";
import type { PaceMonitor } from "../../../core/pace.ts";

/**
 * Every decision of a cluster that serves one task: which worker gets a query, when a worker starts
 * a batch, of what size, on which variant.
 *
 * A state machine without clock, timer or memory of its own making: a driver hands it events in the
 * order of their times and carries out the commands it appends. `simulate` and `serve` are two
 * drivers of it, so what is simulated is what ships. Nothing is allocated after construction, and
 * the same events give the same commands.
 */
export interface Dispatcher {
  readonly workerCount: number;
  /** Queries that wait in one queue at most; one that finds it full is dropped. */
  readonly queueCapacity: number;
  /** Queries that wait in the cluster at most. */
  readonly waitingCapacity: number;
  /** Commands that one event appends at most, and queries of all of them. */
  readonly commandCapacity: number;
  /**
   * Whether workers are up and a query that arrives now is dropped for want of room, whatever it
   * asks; its drop is then the only command.
   */
  isFull(nowMs: number): boolean;
  /**
   * When to call `onWake` unless another event comes first; infinite if no query waits for a time.
   */
  readonly wakeMs: number;

  /**
   * Called when a query has arrived.
   * @param query the driver's name for it: an unsigned 32-bit integer no other query in the cluster
   * has.
   * @param deadlineMs arrival time plus SLO, or earlier.
   * @param sloClass index in `slo.classes`, 0 without classes.
   */
  onArrival(
    query: number,
    deadlineMs: number,
    nowMs: number,
    out: CommandBuffer,
    sloClass?: number,
  ): void;
  /**
   * Called for one of several queries that arrive at once. All of them are queued before any
   * decision, unless a queue is full and only a decision makes room; `onJointEnd` follows the last
   * one, with the same time, in every case. They count as one arrival.
   * @param wanted `ANY_VARIANT`, the index of the variant that has to answer it, or `sameVariant`
   * of the one group of those that arrive at once.
   * @param sloClass as above, the same for all of them.
   */
  onJointArrival(
    query: number,
    deadlineMs: number,
    wanted: number,
    nowMs: number,
    out: CommandBuffer,
    sloClass?: number,
  ): void;
  /** All that arrive at once have arrived. */
  onJointEnd(nowMs: number, out: CommandBuffer): void;
  /**
   * Called for a joint arrival that the driver has rejected: the queries count as load only.
   * @param sloClass as above.
   */
  onRefused(queries: number, nowMs: number, sloClass?: number): void;
  /**
   * Called when a worker's batch is done.
   * @param ranMs how long the model ran in the worker; left out if not measured.
   */
  onBatchDone(worker: number, nowMs: number, out: CommandBuffer, ranMs?: number): void;
  /** Called at the time that `wakeMs` named. */
  onWake(nowMs: number, out: CommandBuffer): void;
  /** Called when a worker has come up, for the first time or again. */
  onWorkerReady(worker: number, nowMs: number, out: CommandBuffer): void;
  /**
   * Called when a worker has gone down. The driver answers for the queries that it ran; those that
   * waited for it go to the workers that are up, with their deadlines.
   */
  onWorkerLost(worker: number, nowMs: number, out: CommandBuffer): void;
  /**
   * Called for a query whose worker was lost while it ran, or whose batch was refused for other
   * rows of it: it waits again, by its deadline. It is no arrival, and no batch is formed for it:
   * queries of one batch may start apart.
   * @param wanted as for an arrival, but without a group.
   */
  onRetry(
    query: number,
    deadlineMs: number,
    wanted: number,
    nowMs: number,
    out: CommandBuffer,
    sloClass?: number,
  ): void;
  /**
   * A query is no longer wanted.
   * @returns whether it waited; one that runs or is unknown is left alone.
   */
  onCancel(query: number): boolean;
  /** The pace of the workers, and how much of their capacity is left. */
  readonly pace: PaceMonitor;
  /** Follows other levels from now on. @param bundle with the same cluster and decision space. */
  replaceBundle(bundle: RamsisBundle): void;
  /**
   * Called when this is one of several front ends: levels are chosen for the load of all of them.
   * Earlier decisions stay; the next decision is the first to use it.
   */
  onShare(share: LoadShare): void;
  /** Load as measured here, for the other front ends. Times must not go back, here neither. */
  seenLoad(nowMs: number): SeenLoad;
  /** Measured load, queries per second; NaN until known. Times must not go back, here neither. */
  loadQps(nowMs: number): number;
}
