/** Load of all front ends of a cluster, as each of them needs it to choose its level. */
import type { LoadWindow, MeasuredLoad } from "./load-monitor.ts";

/** Load as measured by one front end. */
export interface SeenLoad {
  /** Queries per second; 0 while unknown. */
  readonly qps: number;
  /** Variance of that estimate, (queries per second)². */
  readonly variance: number;
}

/** Facts about the front ends that serve the same cluster. */
export interface LoadShare {
  /**
   * Load that the others measure, queries per second; null while it is unknown: each of their
   * workers is then assumed to have as much to do as one of this front end.
   */
  readonly othersQps: number | null;
  /** Variance of it, (queries per second)². */
  readonly othersVariance: number;
  /** Workers of this front end. */
  readonly workers: number;
  /** Workers of all front ends. */
  readonly allWorkers: number;
}

/** Length in beats, as the shortest window, while no arrival has been counted here. */
const EMPTY_WINDOW = 0.5;

/**
 * Standard deviations of the excess from which a front end counts as receiving more than its share,
 * until the excess is gone.
 */
const UNEVEN_SIGMAS = 3;

/** An estimate and its variance from a window of counts. */
export function seenIn({ queries, ms, clump }: LoadWindow): SeenLoad {
  if (queries === 0) return { qps: 0, variance: 0 };
  const qps = (queries * 1000) / ms;
  return { qps, variance: (qps * clump * 1000) / ms };
}

/**
 * Load by which levels are chosen if several front ends share the workers: that of all of them,
 * scaled to the cluster that the levels were compiled for. So a front end that has k of K workers
 * and sees k/K of a load follows the levels for K workers at that load.
 *
 * A window has the local count and what the others' rates add over its length; its `clump` says how
 * uncertain the sum is, so that a choice of levels allows for the noise. The others' rates are
 * somewhat old, so a burst is also looked for in the local count alone, as if all front ends had
 * it: `own`. If clients send more here than to the others, the local count alone is used, as if all
 * had as much.
 */
export class SharedLoad implements MeasuredLoad {
  isKnown = false;
  readonly window: Counted;
  readonly newest: Counted;
  own: LoadWindow | undefined;
  readonly #burst: Counted;
  readonly #levelWorkers: number;
  #share: LoadShare | null = null;
  #isUneven = false;
  #toLevels = 1;
  #ownToLevels = 1;

  /** @param levelWorkers of the cluster that the levels are for. */
  constructor(levelWorkers: number, beatMs: number) {
    const emptyMs = EMPTY_WINDOW * beatMs;
    this.window = new Counted(emptyMs);
    this.newest = new Counted(emptyMs);
    this.#burst = new Counted(emptyMs);
    this.#levelWorkers = levelWorkers;
  }

  /** Workers that the levels are for, for each worker of this front end; 1 where it has all. */
  get workersEach(): number {
    return this.#ownToLevels;
  }

  follow(share: LoadShare): void {
    this.#share = share;
    this.#toLevels = share.allWorkers > 0 ? this.#levelWorkers / share.allWorkers : 1;
    this.#ownToLevels = share.workers > 0 ? this.#levelWorkers / share.workers : 1;
  }

  /**
   * @param seen the counts of this front end.
   * @returns the load of all: `seen` itself while no other front end is known.
   */
  of(seen: MeasuredLoad): MeasuredLoad {
    const share = this.#share;
    if (share === null) return seen;
    const { othersQps, othersVariance } = share;
    this.isKnown = seen.isKnown || (othersQps !== null && othersQps > 0);
    if (othersQps === null) {
      this.window.scale(seen.window, this.#ownToLevels);
      this.newest.scale(seen.newest, this.#ownToLevels);
      this.own = undefined;
      return this;
    }
    this.window.join(seen.window, othersQps, othersVariance, this.#toLevels);
    this.newest.join(seen.newest, othersQps, othersVariance, this.#toLevels);
    this.#burst.scale(seen.newest, this.#ownToLevels);
    this.own = share.workers > 0 && share.workers < share.allWorkers ? this.#burst : undefined;
    if (this.own !== undefined) this.#followUneven(seen);
    return this;
  }

  /** Uses the load of this front end alone while it receives more than the others. */
  #followUneven(seen: MeasuredLoad): void {
    const { queries, clump, ms } = this.#burst;
    const excess = queries - (qpsOf(this.window) * ms) / 1000;
    const limit = this.#isUneven ? 0 : UNEVEN_SIGMAS * Math.sqrt(queries * clump);
    this.#isUneven = excess > limit;
    if (!this.#isUneven) return;
    this.window.scale(seen.window, this.#ownToLevels);
    this.newest.scale(seen.newest, this.#ownToLevels);
    this.own = undefined;
  }
}

function qpsOf({ queries, ms }: LoadWindow): number {
  return (queries * 1000) / ms;
}

class Counted implements LoadWindow {
  queries = 0;
  ms = 0;
  clump = 1;
  readonly #emptyMs: number;

  constructor(emptyMs: number) {
    this.#emptyMs = emptyMs;
  }

  scale({ queries, ms, clump }: LoadWindow, factor: number): void {
    this.queries = queries * factor;
    this.ms = ms;
    this.clump = clump * factor;
  }

  join(seen: LoadWindow, othersQps: number, othersVariance: number, factor: number): void {
    const ms = seen.ms > 0 ? seen.ms : this.#emptyMs;
    const seconds = ms / 1000;
    const queries = seen.queries + othersQps * seconds;
    const variance = seen.queries * seen.clump + othersVariance * seconds * seconds;
    this.queries = queries * factor;
    this.ms = ms;
    this.clump = queries > 0 ? (factor * variance) / queries : 1;
  }
}
