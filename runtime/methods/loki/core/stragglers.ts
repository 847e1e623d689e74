/** Sets servers aside that have been much slower than most for long. */
import type { PipelineShape } from "../../../core/graph/pipeline-shape.ts";
import type { PaceMonitor } from "../../../core/pace.ts";
import type { Cluster } from "./cluster.ts";

/** Beats that a server is set aside at first, and at most; each time is twice as long. */
const LEAST = 60;
const MOST = 600;

/**
 * A plan has few servers for each variant, so a much slower one delays all requests that pass it.
 * It gets no place while the others carry the demand, and is tried again later.
 */
export class Stragglers {
  readonly #cluster: Cluster;
  readonly #paces: PaceMonitor;
  readonly #taskCount: number;
  readonly #beatMs: number;
  /** [workerCount]: until when each is set aside, and for how long the next time. */
  readonly #untilMs: Float64Array;
  readonly #nextMs: Float64Array;

  constructor(
    { workerCount, taskCount, beatMs }: PipelineShape,
    cluster: Cluster,
    paces: PaceMonitor,
  ) {
    this.#cluster = cluster;
    this.#paces = paces;
    this.#taskCount = taskCount;
    this.#beatMs = beatMs;
    this.#untilMs = new Float64Array(workerCount);
    this.#nextMs = new Float64Array(workerCount).fill(LEAST * beatMs);
  }

  /**
   * @param mayReplace whether the current servers do not carry the demand, or are late beside spare
   * ones.
   * @param carries whether so many servers, as fast as most, carry the demand.
   * @returns whether the places of servers have changed.
   */
  update(nowMs: number, mayReplace: boolean, carries: (servers: number) => boolean): boolean {
    let isChanged = false;
    for (let worker = 0; worker < this.#untilMs.length; worker++) {
      const { upCount } = this.#cluster;
      if (this.#cluster.isAside(worker)) {
        if (nowMs < this.#untilMs[worker]! && carries(upCount)) continue;
        this.#cluster.takeBack(worker);
        this.#paces.onReady(worker);
      } else {
        const isStraggler =
          mayReplace && this.#paces.isUp(worker) && this.#paces.isSteadyStraggler(worker, nowMs);
        if (!isStraggler || upCount <= this.#taskCount || !carries(upCount - 1)) continue;
        this.#cluster.setAside(worker);
        this.#paces.onLost(worker);
        this.#untilMs[worker] = nowMs + this.#nextMs[worker]!;
        this.#nextMs[worker] = Math.min(MOST * this.#beatMs, 2 * this.#nextMs[worker]!);
      }
      isChanged = true;
    }
    return isChanged;
  }

  /** Another process has the place of the worker. */
  forget(worker: number): void {
    this.#nextMs[worker] = LEAST * this.#beatMs;
  }
}
