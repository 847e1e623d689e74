/** Kubernetes' horizontal pod autoscaler: from a recommendation to a number of replicas. */

/** Time between two polls. */
export const SYNC_MS = 15_000;
/** Relative deviation from the target that is ignored. */
export const TOLERANCE = 0.1;
/** Most added replicas per poll, as a number or as a factor. */
const MOST_MORE = 4;
const MOST_TIMES = 2;

interface Recommendation {
  readonly atMs: number;
  readonly replicas: number;
}

/**
 * Default behaviour: scales up at once, by 4 or to twice as many in 15 s, whichever is more; scales
 * down to the highest recommendation within the stabilisation window. Source: the documentation of
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
