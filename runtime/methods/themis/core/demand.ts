/** Chooses the level that the traffic calls for. */
import type { ThemisBundle } from "../../../bundle/schema.ts";
import { beatMsOf } from "../../../core/beat.ts";
import { decisionSloMs } from "../../../core/decision-slo.ts";
import { type Forecaster, forecasterOf } from "../../../core/forecasters.ts";
import { SharedDemand } from "../../../core/graph/shared-demand.ts";
import type { LoadShare } from "../../../core/load-share.ts";
import { RateHistory } from "../../../core/rate-history.ts";
import type { ThemisShape } from "./shape.ts";

/**
 * Stands in place of a level: instances stay as they are, or are on their way to where they were
 * sent.
 */
export const NO_WISH = -1;

/** Which levels the traffic calls for. Pure: times are arguments, in order. */
export interface ThemisDemand {
  /**
   * Requests of each beat so far, [HISTORY_BEATS], oldest first, at the last look: input of a
   * forecast.
   */
  readonly perBeat: Float64Array;
  readonly beatMs: number;
  /** Level whose load must be carried at once. */
  readonly needed: number;
  /** Level whose plan should be settled on; NO_WISH to change nothing. */
  readonly wanted: number;
  onArrival(nowMs: number): void;
  /**
   * Highest rate of a beat among the next ten, as predicted by the driver; used from then on
   * instead of the built-in forecast.
   */
  onForecast(qps: number): void;
  /** Several front ends share the workers, each with a part of the requests. */
  onShare(share: LoadShare): void;
  /**
   * @param backlog requests that wait. @param level that is carried.
   * @param base level whose plan was settled on last.
   * @param pace of the instances: a level carries its load divided by it.
   */
  look(nowMs: number, backlog: number, level: number, base: number, pace?: number): void;
}

export function themisDemandOf(
  { policy, slo, cluster }: Pick<ThemisBundle, "policy" | "slo" | "cluster">,
  shape: ThemisShape,
): ThemisDemand {
  const { scaling, predictor, stableTicks } = policy;
  // The LSTM runs in the driver. Until it has spoken, the last ten beats speak for the next.
  const forecaster = forecasterOf(predictor === "lstm" ? "last-max" : predictor);
  const sloMs = decisionSloMs(cluster, slo.latencyMs);
  const options = { stableTicks, forecaster, sloMs, beatMs: beatMsOf(slo) };
  if (scaling === "joint") return new SureDemand(shape, options);
  return new LastBeatDemand(shape, { ...options, scaling });
}

interface DemandOptions {
  readonly stableTicks: number;
  readonly forecaster: Forecaster;
  readonly sloMs: number;
  readonly beatMs: number;
}

/** Measurements of the traffic, used by both kinds of demand. */
class Traffic {
  readonly history: RateHistory;
  readonly beatMs: number;
  readonly beatSeconds: number;
  #foretold = Number.NaN;
  readonly #forecaster: Forecaster;

  constructor({ forecaster, beatMs }: Pick<DemandOptions, "forecaster" | "beatMs">) {
    this.#forecaster = forecaster;
    this.history = new RateHistory(beatMs);
    this.beatMs = beatMs;
    this.beatSeconds = beatMs / 1000;
  }

  onForecast(qps: number): void {
    this.#foretold = qps * this.beatSeconds;
  }

  /** Most requests of a beat among the next ten; NaN if unknown. */
  get forecast(): number {
    return Number.isNaN(this.#foretold)
      ? this.#forecaster.forecast(this.history.perBeat)
      : this.#foretold;
  }

  /** Mean rate over the last beats; NaN if unknown. */
  meanQps(beats: number): number {
    return this.history.meanOver(beats) / this.beatSeconds;
  }
}

/**
 * Demand of the paper: the requests of the last beat are the load. Instances follow once the plan
 * for the load and the plan for the forecast have been the same so many times in a row; horizontal
 * scaling alone does not wait for that to add some, and vertical scaling alone never waits. Source:
 * Themis §5.1.3.
 */
class LastBeatDemand implements ThemisDemand {
  needed = 0;
  wanted = NO_WISH;
  readonly #shape: ThemisShape;
  readonly #traffic: Traffic;
  readonly #stableTicks: number;
  readonly #scaling: "themis" | "horizontal" | "vertical";
  #agreed = 0;

  constructor(
    shape: ThemisShape,
    {
      stableTicks,
      scaling,
      ...options
    }: DemandOptions & { readonly scaling: "themis" | "horizontal" | "vertical" },
  ) {
    this.#shape = shape;
    this.#traffic = new Traffic(options);
    this.#stableTicks = stableTicks;
    this.#scaling = scaling;
  }

  get beatMs(): number {
    return this.#traffic.beatMs;
  }

  get perBeat(): Float64Array {
    return this.#traffic.history.perBeat;
  }

  onArrival(nowMs: number): void {
    this.#traffic.history.onArrival(nowMs);
  }

  onForecast(qps: number): void {
    this.#traffic.onForecast(qps);
  }

  /** The beat that others see is over by then. */
  onShare(): void {}

  look(nowMs: number, _backlog: number, _level: number, base: number, pace = 1): void {
    const traffic = this.#traffic;
    traffic.history.advance(nowMs);
    this.wanted = NO_WISH;
    const qps = traffic.meanQps(1);
    if (Number.isNaN(qps)) return;
    const level = lowestFor(this.#shape, qps, pace);
    const foretoldQps = traffic.forecast / traffic.beatSeconds;
    const foretold = lowestFor(this.#shape, foretoldQps, pace);
    this.#agreed = isSamePlan(this.#shape, level, foretold) ? this.#agreed + 1 : 0;
    this.needed = level;
    const isDue = this.#scaling === "vertical" || (this.#scaling === "horizontal" && level > base);
    if (isDue || this.#agreed >= this.#stableTicks) this.wanted = level;
  }
}

// Times are in beats.

/** A quarter of the SLO: a joint arrival that is no longer than this is still served in time. */
const SHORTEST = 0.025;
/** Windows that end now over which a rate may show to be higher than the load of a level. */
const RISE_WINDOWS = [SHORTEST, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 3, 5];
/** Windows of at least this length call for more instances; a shorter excess is met with cores. */
const LASTING = 1;
/**
 * Standard deviations by which a window's count must exceed that of a load, in terms of its square
 * root, which for a Poisson count hardly depends on the load.
 */
const RISE_SIGMAS = 3.5;
/**
 * Part of the SLO for which requests may wait without being more than a level's load makes wait.
 */
const USUAL_WAIT = 0.75;
/** Their mean may call for fewer instances. */
const CALM = 20;
/** Window for the end of a rise, which a longer mean has not caught up with. */
const RECENT = 5;
/** Standard deviations of a Poisson count by which the highest of ten beats exceeds their rate. */
const PEAK_DEVIATIONS = 1.54;

/**
 * Demand that is certain: plans have room for chance variation of their load, so a level is too low
 * only once the rate of some window that ends now cannot be its load any more. Then cores are
 * requested that carry the rate as it shows, and the backlog besides; and instances, unless the
 * window is too short. Instances follow the traffic down when neither its recent rate nor the
 * forecast needs them, this many times in a row.
 */
class SureDemand implements ThemisDemand {
  needed = 0;
  wanted = NO_WISH;
  readonly #shape: ThemisShape;
  readonly #traffic: Traffic;
  readonly #stableTicks: number;
  readonly #sloSeconds: number;
  /** Recent rate; bursts are looked for in the local traffic. */
  readonly #recent = new SharedDemand();
  #calm = 0;
  /**
   * Level that was called for since it was calm, and looks in a row that would do with a lower one.
   */
  #called = NO_WISH;
  #lowerLooks = 0;

  constructor(shape: ThemisShape, { stableTicks, sloMs, ...options }: DemandOptions) {
    this.#shape = shape;
    this.#traffic = new Traffic(options);
    this.#stableTicks = stableTicks;
    this.#sloSeconds = sloMs / 1000;
  }

  get beatMs(): number {
    return this.#traffic.beatMs;
  }

  get perBeat(): Float64Array {
    return this.#traffic.history.perBeat;
  }

  onArrival(nowMs: number): void {
    this.#traffic.history.onArrival(nowMs);
  }

  onForecast(qps: number): void {
    this.#traffic.onForecast(qps);
  }

  onShare(share: LoadShare): void {
    this.#recent.follow(share);
  }

  look(nowMs: number, backlog: number, level: number, base: number, pace = 1): void {
    const traffic = this.#traffic;
    const shape = this.#shape;
    const { loadQpsByLevel } = shape;
    traffic.history.advance(nowMs);
    this.wanted = NO_WISH;
    const seenQps = Math.max(traffic.meanQps(CALM), traffic.meanQps(RECENT));
    if (Number.isNaN(seenQps)) return;
    this.#recent.look(seenQps, Math.sqrt(seenQps / (RECENT * traffic.beatSeconds)));
    const recentQps = this.#recent.qps;
    const risenQps = this.#risenQps(loadQpsByLevel[level]! / pace, SHORTEST);
    const lastingQps = this.#risenQps(loadQpsByLevel[base]! / pace, LASTING);
    const rateQps = Math.max(recentQps, risenQps);
    const waiting = backlog - rateQps * USUAL_WAIT * this.#sloSeconds;
    // The backlog should be served within another SLO, beside new requests.
    const drainQps = Math.max(0, waiting) / this.#sloSeconds;
    const carriedQps = drainQps > 0 ? rateQps : risenQps;
    const needed = lowestFor(shape, Math.max(carriedQps, lastingQps) + drainQps, pace);
    // A load that was met stays met until it is calm: that a level carries the traffic is no sign
    // that a lower one does.
    this.needed = Math.max(inTimeFrom(shape, level, pace), needed);
    const foretoldQps = rateOfPeak(traffic.forecast) / traffic.beatSeconds;
    const calm = lowestFor(shape, Math.max(rateQps, foretoldQps), pace);
    if (lastingQps > 0) {
      this.#calm = 0;
      this.wanted = this.#callFor(Math.max(base, lowestFor(shape, lastingQps, pace)));
      return;
    }
    this.#calm = calm < base || base < level ? this.#calm + 1 : 0;
    if (this.#calm < this.#stableTicks) return;
    this.needed = needed;
    this.wanted = Math.min(base, calm);
    this.#called = NO_WISH;
  }

  /** Keeps a requested level while it comes up: a rising rate goes up and down on the way. */
  #callFor(level: number): number {
    this.#lowerLooks = level < this.#called ? this.#lowerLooks + 1 : 0;
    if (this.#lowerLooks === 0 || this.#lowerLooks >= this.#stableTicks) {
      this.#called = level;
      this.#lowerLooks = 0;
    }
    return this.#called;
  }

  /**
   * Returns the highest mean rate of the windows that are too high for a load, among those that are
   * long enough; 0 if no window is too high.
   */
  #risenQps(loadQps: number, leastBeats: number): number {
    const traffic = this.#traffic;
    let risen = 0;
    for (const beats of RISE_WINDOWS) {
      if (beats < leastBeats || beats > traffic.history.knownBeats) continue;
      const qps = traffic.meanQps(beats);
      const seconds = beats * traffic.beatSeconds;
      const mostQps = (Math.sqrt(loadQps) + RISE_SIGMAS / (2 * Math.sqrt(seconds))) ** 2;
      if (qps > mostQps && qps > risen) risen = qps;
    }
    return risen;
  }
}

/** Requests per beat of which the highest of ten beats is about this. NaN gives 0. */
function rateOfPeak(peak: number): number {
  if (!(peak > 0)) return 0;
  const half = PEAK_DEVIATIONS / 2;
  const root = Math.sqrt(peak + half * half) - half;
  return root * root;
}

function isSamePlan(shape: ThemisShape, one: number, other: number): boolean {
  const { variantCount, replicasByLevelVariant, coresByLevelVariant } = shape;
  for (let variant = 0; variant < variantCount; variant++) {
    const [a, b] = [one * variantCount + variant, other * variantCount + variant];
    if (replicasByLevelVariant[a] !== replicasByLevelVariant[b]) return false;
    if (coresByLevelVariant[a] !== coresByLevelVariant[b]) return false;
  }
  return true;
}

/**
 * Returns the index of the lowest level for a rate at a pace; the highest if no level is enough or
 * the rate is NaN.
 */
function lowestFor(shape: ThemisShape, qps: number, pace: number): number {
  const { loadQpsByLevel } = shape;
  const top = topLevel(shape, pace);
  let level = 0;
  while (level < top && !(loadQpsByLevel[level]! >= qps * pace)) level++;
  return inTimeFrom(shape, level, pace);
}

/** The highest level that may be called for: pace levels are for slower machines. */
export function topLevel({ baseLevelCount, levelCount }: ThemisShape, pace: number): number {
  return (pace > 1 ? levelCount : baseLevelCount) - 1;
}

/**
 * Returns the lowest level from one on whose plan keeps the SLO at a pace, or else the one with the
 * shortest times. Levels are as planned if the pace is at most 1.
 */
function inTimeFrom({ tailMsByLevel, sloMs, levelCount }: ThemisShape, from: number, pace: number) {
  if (pace <= 1) return from;
  let least = from;
  for (let level = from; level < levelCount; level++) {
    if (tailMsByLevel[level]! * pace <= sloMs) return level;
    if (tailMsByLevel[level]! < tailMsByLevel[least]!) least = level;
  }
  return least;
}
