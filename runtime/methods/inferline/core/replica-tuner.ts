/** Interface of tuners, which decide the number of replicas, and the state that they see. */

/** State of the stages that a tuner sees. */
export interface StageState {
  /** Queries of a task that wait. */
  waiting(task: number): number;
  /** [taskCount]: replicas that hold their model. */
  readonly readyByTask: Uint32Array;
  /** Pace of the workers: batch times relative to their profile; default 1. */
  readonly pace?: number;
}

/**
 * Decides the number of replicas of each task. Pure: times are arguments, in order.
 *
 * Targets count replicas that are still coming up, so repeated calls before they are up request no
 * more.
 */
export interface ReplicaTuner {
  /** [taskCount], at least 1: replicas that each task is to have. */
  readonly targets: Uint32Array;
  /**
   * Index of the level that is followed, for tuners that choose it; otherwise the mean rate
   * chooses, through `follow`.
   */
  readonly level?: number | undefined;
  /** Whether late queries are served after the others; default no. */
  readonly isLateLast?: boolean | undefined;
  /**
   * Mean rate of the last 30 beats, requests per second; NaN before they are over.
   */
  readonly recentMeanQps: number;
  /** When to call `tick` next. */
  readonly wakeMs: number;
  /** Called when a request arrives. @returns whether a target has changed. */
  onArrival(nowMs: number): boolean;
  /** Called for each query of a task; left out by tuners that count requests alone. */
  onQuery?(task: number): void;
  /**
   * Called at the time that `wakeMs` names, or later.
   * @returns whether a target, or the level of a tuner that chooses it, has changed.
   */
  tick(nowMs: number, state: StageState): boolean;
  /**
   * The plan of another level is followed from now on. Targets become its replicas, or more if the
   * traffic asks for more.
   */
  follow(level: number, nowMs: number): void;
}
