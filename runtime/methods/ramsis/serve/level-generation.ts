/** Levels that are computed while a bundle is served, for loads above all that it has. */
import { type RamsisLevel, violationCeiling } from "../../../bundle/schema.ts";
import type { GenerateLevel } from "../../method.ts";
import type { GenerationOutcome } from "./metrics.ts";
import type { ServedPolicy } from "./served-policy.ts";

const SLICE_MS = 1000;
const SLICE_COUNT = 5;
/** Number of newest slices, which give the load if it has risen meanwhile. */
const NEWEST_COUNT = 3;
/** Excess over the top level that is worth a new level ... */
const MIN_EXCESS = 0.03;
/**
 * ... if it is also this many standard deviations of a Poisson count: at the load of the top level
 * itself, chance shows one in half a day.
 */
const MIN_SIGMAS = 4;

/**
 * Detects that arrivals stay above the top level: five seconds in which each second exceeds its
 * load, and together they do by more than 3 % and more than chance explains. A burst of fewer
 * seconds, however high, does not count; it is over before another level could help.
 */
export class OverloadDetector {
  #sliceStartMs = Number.NaN;
  #sliceCount = 0;
  #fullSlices: number[] = [];

  /**
   * Counts an arrival. Times must not go back.
   * @returns the load, queries/s, when a slice ends in overload; NaN otherwise.
   */
  onArrival(nowMs: number, topQps: number): number {
    const elapsed = Math.floor((nowMs - this.#sliceStartMs) / SLICE_MS);
    if (Number.isNaN(elapsed) || elapsed > SLICE_COUNT) {
      // Like the load monitor, the record begins with an arrival that is not counted itself.
      this.reset();
      this.#sliceStartMs = nowMs;
      return Number.NaN;
    }
    for (let slice = 0; slice < elapsed; slice++) {
      this.#fullSlices = [...this.#fullSlices, this.#sliceCount].slice(-SLICE_COUNT);
      this.#sliceCount = 0;
    }
    this.#sliceStartMs += elapsed * SLICE_MS;
    this.#sliceCount++;
    return elapsed > 0 ? this.#overloadQps(topQps) : Number.NaN;
  }

  /** Forgets all counts. */
  reset(): void {
    this.#sliceStartMs = Number.NaN;
    this.#sliceCount = 0;
    this.#fullSlices = [];
  }

  #overloadQps(topQps: number): number {
    const slices = this.#fullSlices;
    const sliceQueries = (topQps * SLICE_MS) / 1000;
    if (slices.length < SLICE_COUNT || slices.some((count) => count <= sliceQueries)) {
      return Number.NaN;
    }
    const expected = sliceQueries * SLICE_COUNT;
    const threshold = expected + Math.max(MIN_EXCESS * expected, MIN_SIGMAS * Math.sqrt(expected));
    if (sum(slices) <= threshold) return Number.NaN;
    return (sum(slices.slice(-NEWEST_COUNT)) * 1000) / (NEWEST_COUNT * SLICE_MS);
  }
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

interface LevelGenerationOptions {
  readonly policy: ServedPolicy;
  readonly generateLevel: GenerateLevel;
  readonly onDone: (outcome: GenerationOutcome) => void;
  readonly onNotice: (message: string) => void;
}

/** Levels added to a bundle at most: with the head-room, enough for four times its top load. */
const MAX_ADDED = 16;
/**
 * Margin of a computed level above the measured load, so that a load that keeps rising does not
 * need another one at once.
 */
const HEAD_ROOM = 0.1;
/** Loads closer than this, relative to them, are not worth a level of their own. */
const MIN_GAP = 0.02;
/** Wait after a failure that does not depend on the load. */
const RETRY_MS = 60_000;

/**
 * On-line generation: when the load stays above the highest level, a level is computed while the
 * top one stays in use, and added if it is feasible. One at a time. Source: RAMSIS §3.2.2, "if that
 * anticipated load is higher than any pre-computed policy can support, a new one is generated".
 *
 * A load without a feasible policy is a ceiling that later levels stay below, as is the capacity of
 * the cluster. Below it the highest feasible load is found by bisection: above what the cluster
 * carries, the level next to that decides better than one far below.
 */
export class LevelGeneration {
  readonly #options: LevelGenerationOptions;
  readonly #detector = new OverloadDetector();
  #running: AbortController | undefined;
  #ceilingQps = Number.POSITIVE_INFINITY;
  #addedCount = 0;
  #retryMs = Number.NEGATIVE_INFINITY;
  #lastMs = 0;
  #hasSaidEnd = false;
  #isClosed = false;

  constructor(options: LevelGenerationOptions) {
    this.#options = options;
  }

  /** A query has arrived. Times must not go back. */
  onArrival(nowMs: number): void {
    if (this.#isClosed) return;
    this.#lastMs = nowMs;
    const { policy } = this.#options;
    const overloadQps = this.#detector.onArrival(nowMs, policy.topLevel.loadQps);
    if (Number.isNaN(overloadQps) || this.#running !== undefined || nowMs < this.#retryMs) return;
    const loadQps = this.#addedCount < MAX_ADDED ? this.#loadFor(overloadQps) : null;
    if (loadQps !== null) void this.#generate(overloadQps, loadQps);
    else this.#sayEnd(overloadQps);
  }

  /**
   * Called when another bundle decides: the computation for the old one, and its ceiling, are void.
   */
  onPolicyReplaced(): void {
    this.#giveUp();
    this.#detector.reset();
    this.#ceilingQps = Number.POSITIVE_INFINITY;
    this.#addedCount = 0;
    this.#retryMs = Number.NEGATIVE_INFINITY;
    this.#hasSaidEnd = false;
  }

  /** Stops the computation, and starts no other. */
  close(): void {
    this.#isClosed = true;
    this.#giveUp();
  }

  #giveUp(): void {
    this.#running?.abort();
    this.#running = undefined;
  }

  /** The load to compute a level for, null if no level above the top one is worth it. */
  #loadFor(overloadQps: number): number | null {
    const { loadQps: topQps, capacityQps } = this.#options.policy.topLevel;
    const ceilingQps = Math.min(this.#ceilingQps, capacityQps);
    const wantedQps = roundedUp(overloadQps * (1 + HEAD_ROOM));
    if (wantedQps < ceilingQps) return wantedQps;
    // Half-way down to the load itself; if that is no better, down to the existing level.
    const isWorthIt = (middleQps: number): boolean =>
      middleQps > topQps * (1 + MIN_GAP) && middleQps < ceilingQps * (1 - MIN_GAP / 2);
    const floorsQps = overloadQps < ceilingQps ? [overloadQps, topQps] : [topQps];
    const middlesQps = floorsQps.map((floorQps) => toThreeDigits((floorQps + ceilingQps) / 2));
    return middlesQps.find(isWorthIt) ?? null;
  }

  /** Never rejects. */
  async #generate(overloadQps: number, loadQps: number): Promise<void> {
    const { policy, generateLevel, onDone, onNotice } = this.#options;
    const running = new AbortController();
    this.#running = running;
    onNotice(
      `load is ${Math.round(overloadQps)} qps, above the top level of ` +
        `${policy.topLevel.loadQps} qps: computing a level for ${loadQps} qps`,
    );
    let outcome: GenerationOutcome = "failed";
    try {
      const level = await generateLevel(policy.bundle, loadQps, running.signal);
      if (running.signal.aborted) return;
      outcome = this.#take(level, loadQps);
    } catch (error) {
      if (running.signal.aborted) return;
      this.#retryMs = this.#lastMs + RETRY_MS;
      const reason = error instanceof Error ? error.message : String(error);
      onNotice(`no level for ${loadQps} qps, ${topGoesOn(policy)}: ${reason}`);
    }
    this.#running = undefined;
    // The load was counted above the old top level; the new one must be exceeded from scratch.
    this.#detector.reset();
    onDone(outcome);
  }

  #take(level: RamsisLevel, loadQps: number): GenerationOutcome {
    const { policy, onNotice } = this.#options;
    const { feasible, expected } = level;
    if (!feasible) {
      this.#ceilingQps = loadQps;
      const allowed = violationCeiling(policy.bundle.slo);
      onNotice(
        `no level for ${loadQps} qps, ${topGoesOn(policy)}: it is not feasible, ` +
          `expected violations ${ratio(expected.violationRate)}, allowed ${ratio(allowed)}`,
      );
      return "infeasible";
    }
    policy.addLevel(level);
    this.#addedCount++;
    onNotice(
      `level for ${loadQps} qps added: expected accuracy ${ratio(expected.accuracyPerQuery)}, ` +
        `violations ${ratio(expected.violationRate)}`,
    );
    return "added";
  }

  /** Reports this once, since it does not change. */
  #sayEnd(overloadQps: number): void {
    if (this.#hasSaidEnd) return;
    this.#hasSaidEnd = true;
    const { policy, onNotice } = this.#options;
    const why =
      this.#addedCount < MAX_ADDED
        ? "the cluster carries no more"
        : `${MAX_ADDED} levels have been added, the maximum`;
    onNotice(`load is ${Math.round(overloadQps)} qps, ${topGoesOn(policy)}: ${why}`);
  }
}

function topGoesOn({ topLevel }: ServedPolicy): string {
  return `the top level of ${topLevel.loadQps} qps stays in use`;
}

function ratio(value: number): string {
  return `${(100 * value).toPrecision(3)} %`;
}

/** The next number of two digits, or of three below 20 and the like: at most 5 % more. */
function roundedUp(loadQps: number): number {
  const exponent = Number(loadQps.toExponential().split("e")[1]);
  const unit = 10 ** (exponent - 1) * (loadQps < 2 * 10 ** exponent ? 0.5 : 1);
  // A round load, up to its last bit, stays.
  return toThreeDigits(Math.ceil(loadQps / unit - 1e-9) * unit);
}

function toThreeDigits(loadQps: number): number {
  return Number(loadQps.toPrecision(3));
}
