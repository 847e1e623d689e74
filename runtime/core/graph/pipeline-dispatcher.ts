/** States the interface of every dispatcher of a graph of tasks. */
import type { CommandBuffer } from "../command-buffer.ts";
import type { LoadShare, SeenLoad } from "../load-share.ts";
import type { PaceMonitor, ReferenceMode } from "../pace.ts";

/** Stands for "no parent": the query belongs to a request itself, for an entry task. */
export const NO_PARENT = 0xffff_ffff;

export interface PipelineDispatcherOptions {
  /** The driver's names for queries are integers below this. */
  readonly queryCapacity: number;
  /** Demand that is assumed until it is measured; by default the highest level starts. */
  readonly initialDemandQps?: number;
  /** Whether workers compete for processors as profiled; default true. */
  readonly contends?: boolean;
  /** Whether decisions follow the pace of the workers; default true. */
  readonly adapt?: boolean;
  /** Expected times on a machine as profiled; the measured means by default. */
  readonly reference?: ReferenceMode;
}

/**
 * Every decision of a cluster that serves a pipeline: which servers run which variant, which of
 * them gets a query, when a batch starts, what is given up, and when another plan takes over.
 *
 * A state machine as `Dispatcher` is: events in the order of their times go in, commands come out;
 * `simulate` and `serve` are two drivers of it.
 *
 * A request is one query for every entry task, in the simplest case one. When a batch is done the
 * driver first says so, then hands in the queries that came out of it, each with the query it came
 * from, and only then reuses the names of the queries that are done.
 *
 * Worker indices run over the pools in their order. A worker that is up holds no model until ASSIGN
 * says which, and takes batches of it once the driver has answered with `onModelReady`. RELEASE
 * says that the plan needs it no more, for now.
 */
export interface PipelineDispatcher {
  readonly workerCount: number;
  /** Queries that wait in the cluster at most; beyond it they are dropped. */
  readonly waitingCapacity: number;
  /** Commands that one event appends at most. */
  readonly commandCapacity: number;
  /**
   * When to call `onWake` unless another event comes first: at once if it is in the past, but after
   * the queries of the event at hand.
   */
  readonly wakeMs: number;
  /** Index of the followed level. */
  readonly level: number;
  /** Workers that are assigned a model, or will be. */
  readonly servers: number;
  /** The pace of the workers. */
  readonly pace: PaceMonitor;

  /**
   * Called when a request arrives; it counts as demand. Its entry queries follow.
   * @returns whether it is admitted: beyond capacity the excess is shed.
   */
  onRequest(nowMs: number): boolean;
  /**
   * Called when a query of a task arises. Its batch starts with the `onWake` that follows: `wakeMs`
   * requests it, and the driver calls it once all queries of an event are in.
   * @param query the driver's name for it, not in use by a query that waits or runs.
   * @param parent the query that it came from, or NO_PARENT.
   * @param deadlineMs of its request.
   */
  onQuery(
    query: number,
    task: number,
    parent: number,
    deadlineMs: number,
    nowMs: number,
    out: CommandBuffer,
  ): void;
  /**
   * Called when a worker's batch is done.
   * @param ranMs how long the model ran in the worker; left out if not measured.
   */
  onBatchDone(worker: number, nowMs: number, out: CommandBuffer, ranMs?: number): void;
  /** Reports how many queries a served one sent to a child task, like a heartbeat of the paper. */
  onFanout(query: number, childTask: number, count: number): void;
  /** Called at the time that `wakeMs` named. */
  onWake(nowMs: number, out: CommandBuffer): void;
  /** Called when a worker has come up, for the first time or again; it holds no model. */
  onWorkerReady(worker: number, nowMs: number, out: CommandBuffer): void;
  /** The worker holds the model that ASSIGN named last. */
  onModelReady(worker: number, nowMs: number, out: CommandBuffer): void;
  /** Called when a worker has gone down. The driver answers for the queries that it ran. */
  onWorkerLost(worker: number, nowMs: number, out: CommandBuffer): void;
  /**
   * Called for a query whose worker was lost while it ran, or whose batch was refused for other
   * rows of it: it waits again, under its name, before later ones. As with `onQuery`, batches start
   * with the `onWake` that follows.
   */
  onRetry(query: number, task: number, nowMs: number, out: CommandBuffer): void;
  /**
   * A query is no longer wanted.
   * @returns whether it waited; one that runs or is unknown is left alone.
   */
  onCancel(query: number): boolean;
  /** Smoothed demand, requests per second; NaN until it is known. */
  loadQps(nowMs: number): number;
  /** Load as measured here, for the other front ends. */
  seenLoad(nowMs: number): SeenLoad;
  /**
   * Called when this is one of several front ends: it chooses its level by the demand of all, from
   * its next look at the demand on.
   */
  onShare(share: LoadShare): void;
}

/** Events of a dispatcher whose plans resize workers. */
export interface ResizedPipeline {
  /** Passes on the driver's forecast of the highest rate of a beat among the next ten. */
  onForecast(qps: number): void;
  /** The worker has the cores that RESIZE named last. */
  onResized(worker: number, nowMs: number, out: CommandBuffer): void;
}
