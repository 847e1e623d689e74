/** Holds replicas for bursts that are too fast for replicas to start in time. */
import type { StagePlan } from "../../../bundle/schema.ts";
import { wholeOf } from "./staffing.ts";

/** More than this, the oldest is forgotten. */
const MOST_LEAPS = 64;

export interface BurstReserveOptions {
  /** How long a burst is remembered; 0 for no reserve. */
  readonly memoryMs: number;
  /** Ratio of requests that may be late. */
  readonly ceiling: number;
  readonly activationMs: number;
  readonly beatMs: number;
  /** Variance over mean of the requests in a window. */
  readonly dispersion: number;
  /** Deviations of a count that are no other load yet. */
  readonly slack: number;
}

/** Rates of the newest traffic, requests per second. */
interface LeapLook {
  readonly nowMs: number;
  /** Load that is certain, load over a beat, and over the time that replicas take to come up. */
  readonly sureQps: number;
  readonly lastQps: number;
  readonly meanQps: number;
  /** Load that the ready replicas carry with batches that are in time. */
  readonly carriedQps: number;
  /** How long a request may wait and be in time. */
  readonly waitMs: number;
}

/** Traffic that certainly exceeded what the ready replicas carried, until it no longer does. */
interface Leap {
  readonly startMs: number;
  readonly fromQps: number;
  /** Highest rate over the time that replicas take to come up, while too few were ready. */
  toQps: number;
  /** Requests since it began, and those of them that waited too long. */
  requests: number;
  lost: number;
  isOver: boolean;
}

/**
 * Holds replicas for bursts: what exceeds the ready replicas while others come up is late in any
 * case, so only replicas held beforehand help. They are held once a leap has shown that the traffic
 * needs them: one that ended so soon that more of its own requests were lost than the SLO allows,
 * which a steady load does not make up for. For some time after it every stage has replicas that
 * just carry the leap's rate, with the slack of a count. A leap to a load that stays needs no
 * reserve and costs nothing.
 */
export class BurstReserve {
  readonly #options: BurstReserveOptions;
  /** Oldest first. */
  readonly #leaps: Leap[] = [];
  /** The last one while too little is ready for it; null otherwise. */
  #rising: Leap | null = null;
  /** Requests beyond what was carried that may still be in time. */
  #waiting = 0;
  #lookedMs = Number.NaN;

  constructor(options: BurstReserveOptions) {
    this.#options = options;
  }

  /** Rate that needs replicas; 0 for none. */
  get qps(): number {
    const { ceiling, slack, dispersion, activationMs } = this.#options;
    let most = 0;
    for (const { isOver, lost, requests, toQps } of this.#leaps) {
      if (isOver && lost > ceiling * requests) most = Math.max(most, toQps);
    }
    return most + slack * Math.sqrt((1000 * dispersion * most) / activationMs);
  }

  look(look: LeapLook): void {
    const { nowMs, sureQps, carriedQps } = look;
    const sinceMs = Number.isNaN(this.#lookedMs) ? 0 : nowMs - this.#lookedMs;
    const seconds = Math.min(sinceMs, this.#options.beatMs) / 1000;
    this.#lookedMs = nowMs;
    const lost = this.#lostIn(seconds, look);
    this.#forget(nowMs);
    if (this.#rising === null && sureQps > carriedQps) this.#rising = this.#begin(look);
    const last = this.#leaps.at(-1);
    if (last !== undefined && !last.isOver) {
      last.requests += look.lastQps * seconds;
      this.#follow(last, look, lost);
    }
  }

  /** Returns the requests lost: those beyond what is carried, and beyond what can wait in time. */
  #lostIn(seconds: number, { lastQps, carriedQps, waitMs }: LeapLook): number {
    const waiting = Math.max(0, this.#waiting + (lastQps - carriedQps) * seconds);
    this.#waiting = Math.min(waiting, (carriedQps * waitMs) / 1000);
    return waiting - this.#waiting;
  }

  #forget(nowMs: number): void {
    const leaps = this.#leaps;
    const sinceMs = nowMs - this.#options.memoryMs;
    while (leaps.length > MOST_LEAPS || (leaps.length > 0 && leaps[0]!.startMs <= sinceMs)) {
      if (leaps.shift() === this.#rising) this.#rising = null;
    }
  }

  /** Begins a leap, or continues the previous one if it is not over. */
  #begin({ nowMs, carriedQps }: LeapLook): Leap {
    const last = this.#leaps.at(-1);
    if (last !== undefined && !last.isOver) return last;
    const fresh = { fromQps: carriedQps, toQps: 0, requests: 0, lost: 0, isOver: false };
    const leap: Leap = { startMs: nowMs, ...fresh };
    this.#leaps.push(leap);
    return leap;
  }

  #follow(leap: Leap, { lastQps, meanQps, carriedQps }: LeapLook, lost: number): void {
    if (this.#rising === null) {
      leap.isOver = meanQps < leap.fromQps;
      return;
    }
    leap.toQps = Math.max(leap.toQps, meanQps);
    leap.lost += lost;
    if (carriedQps >= lastQps) this.#rising = null;
  }
}

/** The rate that a number of replicas of each stage carries with batches that are in time. */
export function carriedQpsOf(
  stages: readonly StagePlan[],
  throughputQps: readonly number[],
  factors: Float64Array,
  replicas: Uint32Array,
): number {
  let least = Number.POSITIVE_INFINITY;
  for (let task = 0; task < stages.length; task++) {
    const perRequest = stages[task]!.scaleFactor * factors[task]!;
    // A task that no request reaches holds nothing up.
    if (!(perRequest > 0)) continue;
    least = Math.min(least, (throughputQps[task]! * replicas[task]!) / perRequest);
  }
  return least;
}

/** Returns the replicas of each stage that carry a rate, at least 1. */
export function replicasFor(
  qps: number,
  { scaleFactor }: StagePlan,
  throughputQps: number,
  factor: number,
): number {
  return wholeOf((qps * scaleFactor * factor) / throughputQps);
}
