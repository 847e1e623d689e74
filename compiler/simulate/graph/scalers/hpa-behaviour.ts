/** How Kubernetes' horizontal pod autoscaler gets from a recommendation to a number of replicas. */

/** Time between two looks. */
export const SYNC_MS = 15_000;
/** A metric that is so near its target is at its target. */
export const TOLERANCE = 0.1;
/** In one look there may be as many more replicas, or as many times as many. */
const MOST_MORE = 4;
const MOST_TIMES = 2;

interface Recommendation {
  readonly atMs: number;
  readonly replicas: number;
}

/**
 * The default behaviour: up at once, by 4 or to twice as many in 15 s, whichever is more; down to
 * the most that was recommended within the stabilisation window. Source: the documentation of
 * Kubernetes, "Horizontal Pod Autoscaling", default behaviour.
 */
export class HpaBehaviour {
  readonly #downMs: number;
  #recent: Recommendation[] = [];

  /** @param downMs length of the stabilisation window. */
  constructor(downMs: number) {
    this.#downMs = downMs;
  }

  next(recommended: number, current: number, nowMs: number): number {
    const replicas = Math.max(1, recommended);
    this.#recent = this.#recent.filter(({ atMs }) => atMs > nowMs - this.#downMs);
    this.#recent.push({ atMs: nowMs, replicas });
    if (replicas >= current) {
      return Math.min(replicas, Math.max(current + MOST_MORE, MOST_TIMES * current));
    }
    const most = Math.max(...this.#recent.map((one) => one.replicas));
    return Math.min(current, most);
  }
}
