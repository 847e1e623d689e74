/** Follows levels, envelope and forecast together, and scales down by the same rule as up. */
import {
  type InferlineBundle,
  MICROS,
  priceMicros,
  violationCeiling,
} from "../../../bundle/schema.ts";
import { beatMsOf } from "../../../core/beat.ts";
import { HISTORY_BEATS } from "../../../core/forecasters.ts";
import { RateHistory } from "../../../core/rate-history.ts";
import { BurstReserve, carriedQpsOf, replicasFor } from "./burst-reserve.ts";
import { CatchUp } from "./catch-up.ts";
import { dispersionOf } from "./dispersion.ts";
import { type Foreteller, ForetoldRate } from "./foretold-rate.ts";
import { RecentFanouts } from "./recent-fanouts.ts";
import type { ReplicaTuner, StageState } from "./replica-tuner.ts";
import { Staffing } from "./staffing.ts";
import { SureLoad, sureMean } from "./sure-load.ts";
import { type TimelyBatches, timelyBatches } from "./timely-batches.ts";
import { TrailingEnvelope } from "./traffic-envelope.ts";

/** Parameters of the tuner that were chosen by simulation, on days not used for evaluation. */
export interface JointTunerOptions {
  /** Deviations of a window's count above the most of the sample that are no other load yet. */
  readonly slack: number;
  /** Beats for which the traffic, and the need that it showed, is remembered. */
  readonly memoryBeats: number;
  /** Predicts the rate for when replicas requested now are up; null for no prediction. */
  readonly forecaster: Foreteller | null;
  /** Whether extra replicas work off a backlog. */
  readonly catchesUp: boolean;
  /** Whether late queries are served after the others. */
  readonly lateLast: boolean;
  /** Beats for which a burst that was too fast is remembered and provided for; 0 for none. */
  readonly burstMemoryBeats: number;
}

/** Chosen as `npm run experiment -- inferline choice` describes. */
export const JOINT_DEFAULTS: JointTunerOptions = {
  slack: 2.5,
  memoryBeats: 40,
  forecaster: "rise",
  catchesUp: true,
  lateLast: true,
  burstMemoryBeats: 2100,
};

// Times are in beats.

/** Beats between two looks at the traffic; an excess is handled when it arrives. */
const TICK = 1;
/** The recent mean is over this time. */
const RECENT = 30;
/** Shortest window of the envelope where plans are faster than that. */
const LEAST_WINDOW = 0.01;
/** Another plan takes over once it has been cheaper by this part ... */
const LEAST_SAVING = 0.05;
/** ... for this many beats, since all its replicas may have to be started anew. */
const SWITCH = 10;
/** For bursts a stage has a replica to spare that costs at most this part of the plan. */
const CHEAP_PART = 0.05;
/** Windows that end now over which a rate may show to be too high. */
const NOW_WINDOWS = [0.2, 0.5, 1, 2];
/** Standard deviations by which such a count must exceed a load to be certainly more. */
const NOW_SIGMAS = 3.5;

/**
 * Tunes the replicas, and the plan, to the load that the traffic of the last 40 beats certainly
 * has.
 *
 * For every window a load allows a largest count: the most of the sample, scaled to the load, and a
 * slack of some deviations. The least load that allows all counts is the need, both ways: above
 * what is provided for, replicas are requested at the arrival that shows it; below, they go once
 * the traffic that called for them is forgotten. A forecast for the time when replicas are up
 * counts as a future window with the same slack. Two plans can carry a need: that of the lowest
 * level which allows for it, with fewer replicas, and that of the level below, with more. The
 * cheaper one is followed; another takes over once it has been cheaper for a while. A backlog from
 * before replicas were up is caught up with by more of them, and for bursts that ended too soon for
 * that, replicas are held from then on.
 */
export class JointTuner implements ReplicaTuner {
  readonly targets: Uint32Array;
  wakeMs = Number.POSITIVE_INFINITY;
  readonly isLateLast: boolean;
  readonly #bundle: InferlineBundle;
  readonly #options: JointTunerOptions;
  readonly #dispersion: number;
  readonly #isFixed: boolean;
  readonly #envelope: TrailingEnvelope;
  readonly #history: RateHistory;
  readonly #beatMs: number;
  readonly #fanouts: RecentFanouts;
  readonly #foretold: ForetoldRate;
  readonly #staffing: Staffing;
  readonly #catchUp: CatchUp;
  readonly #reserve: BurstReserve;
  /** Timely batches per level. */
  readonly #timely: readonly TimelyBatches[];
  /** Load estimates per level. */
  readonly #loads: readonly SureLoad[];
  /** Replicas for the need, [taskCount], without those that catch up with a backlog. */
  readonly #wanted: Uint32Array;
  /** Counts that the current targets allow for, [windowCount]. */
  readonly #limits: Float64Array;
  readonly #own;
  readonly #other;
  #level: number;
  #pace = 1;
  #firstMs = Number.NaN;
  /** The level that would be better, and since when. */
  #better = -1;
  #betterSinceMs = Number.NaN;

  /**
   * @param level index of the level that is followed first.
   * @param isFixed whether it is followed regardless of the traffic.
   */
  constructor(
    bundle: InferlineBundle,
    level: number,
    isFixed = false,
    options: JointTunerOptions = JOINT_DEFAULTS,
  ) {
    const taskCount = bundle.tasks.length;
    this.#bundle = bundle;
    this.#options = options;
    this.isLateLast = options.lateLast;
    this.#dispersion = dispersionOf(bundle.arrivals);
    this.#isFixed = isFixed || bundle.levels.length === 1;
    this.#level = level;
    const beatMs = beatMsOf(bundle.slo);
    const memoryMs = options.memoryBeats * beatMs;
    const windowMs = windowsOf(bundle, memoryMs, LEAST_WINDOW * beatMs);
    this.#beatMs = beatMs;
    this.#history = new RateHistory(beatMs);
    this.#envelope = new TrailingEnvelope(windowMs, memoryMs);
    this.#fanouts = new RecentFanouts(bundle);
    this.#foretold = new ForetoldRate(options.forecaster, {
      aheadBeats: bundle.policy.activationMs / beatMs + TICK,
      beatMs,
      dispersion: this.#dispersion,
      slack: options.slack,
    });
    this.#staffing = new Staffing(bundle);
    this.#catchUp = new CatchUp(bundle);
    this.#reserve = new BurstReserve({
      memoryMs: options.burstMemoryBeats * beatMs,
      beatMs,
      ceiling: violationCeiling(bundle.slo),
      activationMs: bundle.policy.activationMs,
      dispersion: this.#dispersion,
      slack: options.slack,
    });
    this.#timely = bundle.levels.map((one) => timelyBatches(bundle, one));
    const slack = { dispersion: this.#dispersion, slack: options.slack + bundle.policy.tolerance };
    this.#loads = bundle.levels.map((one) => new SureLoad(one, windowMs, slack));
    this.targets = new Uint32Array(taskCount);
    this.#wanted = new Uint32Array(taskCount);
    this.#limits = new Float64Array(windowMs.length);
    this.#own = { replicas: new Uint32Array(taskCount), micros: 0, lacking: 0 };
    this.#other = { replicas: new Uint32Array(taskCount), micros: 0, lacking: 0 };
    this.#startFrom(level);
  }

  get level(): number {
    return this.#level;
  }

  get recentMeanQps(): number {
    return this.#history.knownBeats < RECENT ? Number.NaN : this.#meanQps(RECENT);
  }

  onArrival(nowMs: number): boolean {
    if (Number.isNaN(this.#firstMs)) {
      this.#firstMs = nowMs;
      this.wakeMs = nowMs + TICK * this.#beatMs;
    }
    this.#history.onArrival(nowMs);
    this.#fanouts.recordRequest();
    this.#envelope.record(nowMs);
    if (this.#exceedsLimits()) this.wakeMs = Math.min(this.wakeMs, nowMs);
    return false;
  }

  onQuery(task: number): void {
    if (this.#fanouts.isUsed) this.#fanouts.recordQuery(task);
  }

  tick(nowMs: number, state: StageState): boolean {
    if (!(nowMs >= this.wakeMs)) return false;
    const levelBefore = this.#level;
    this.#pace = state.pace ?? 1;
    this.#envelope.advance(nowMs);
    this.#history.advance(nowMs);
    this.#fanouts.advance(nowMs, this.#stages);
    this.#provide(nowMs);
    this.#lookBack(nowMs, state);
    this.wakeMs = nowMs + TICK * this.#beatMs;
    if (this.#catchUp.dueMs > nowMs) this.wakeMs = Math.min(this.wakeMs, this.#catchUp.dueMs);
    return this.#setTargets() || this.#level !== levelBefore;
  }

  follow(level: number): void {
    this.#startFrom(level);
  }

  get #stages() {
    return this.#bundle.levels[this.#level]!.plan.stages;
  }

  #startFrom(level: number): void {
    this.#level = level;
    for (const [task, { replicas }] of this.#stages.entries()) {
      this.#wanted[task] = Math.max(replicas, 1);
    }
    this.#setTargets();
    this.#setLimits();
  }

  #exceedsLimits(): boolean {
    const observed = this.#envelope.maxima;
    const limits = this.#limits;
    for (let window = 0; window < limits.length; window++) {
      if (observed[window]! > limits[window]!) return true;
    }
    return false;
  }

  /** Sets the replicas for the need, by the current plan or by another that is cheaper. */
  #provide(nowMs: number): void {
    const { factors } = this.#fanouts;
    const foretold = this.#foretold.qpsOf(this.#history);
    const staff = this.#own;
    this.#staffing.at(this.#level, this.#needAt(this.#level, foretold), factors, staff);
    const mayFall = this.#isKnown(nowMs);
    if (!this.#isFixed) this.#compare(nowMs, foretold, mayFall);
    for (let task = 0; task < staff.replicas.length; task++) {
      const wanted = staff.replicas[task]!;
      if (wanted > this.#wanted[task]! || mayFall) this.#wanted[task] = wanted;
    }
    this.#setLimits();
  }

  /** Until the memory is full, less traffic may only mean traffic that is yet to come. */
  #isKnown(nowMs: number): boolean {
    return nowMs - this.#firstMs >= this.#options.memoryBeats * this.#beatMs;
  }

  /** Changes to another level once it has been better for a while; `#own` is then its staff. */
  #compare(nowMs: number, foretold: number, mayFall: boolean): void {
    const upper = this.#lowestFor(foretold);
    const candidate = this.#cheaperOf(upper, foretold);
    const [own, other] = [this.#own, this.#other];
    const isOther = candidate > this.#level || (candidate < this.#level && mayFall);
    const isRelief = isOther && other.lacking < own.lacking;
    const isAsGood = isOther && other.lacking === own.lacking;
    // A plan for far more traffic may seem cheap with few of its replicas, but a plan for less is
    // proven, and is followed regardless of its cost.
    const isFar = this.#level > upper || this.#level < upper - 1;
    const isBetter = isFar || other.micros < own.micros * (1 - LEAST_SAVING);
    if (!isRelief && !(isAsGood && isBetter)) {
      this.#better = -1;
      return;
    }
    if (candidate !== this.#better) {
      this.#better = candidate;
      this.#betterSinceMs = nowMs;
    }
    if (!isRelief && nowMs - this.#betterSinceMs < SWITCH * this.#beatMs) return;
    this.#level = candidate;
    this.#better = -1;
    own.replicas.set(other.replicas);
    // Replicas of the previous plan say nothing about this one.
    this.#wanted.set(other.replicas);
  }

  /** Returns the lowest level whose load the need may be; the highest if no level has it. */
  #lowestFor(foretold: number): number {
    let level = 0;
    while (level < this.#loads.length - 1 && this.#needAt(level, foretold) > 1) level++;
    return level;
  }

  /**
   * Returns a level, or the one below it if that meets the need at a lower cost; `#other` is then
   * its staff. A plan is made for anything that may be the load of its level.
   */
  #cheaperOf(upper: number, foretold: number): number {
    const { factors } = this.#fanouts;
    const staff = this.#other;
    const need = this.#needAt(upper, foretold);
    this.#staffing.at(upper, need, factors, staff);
    if (upper === 0 || need >= 1) return upper;
    const { micros, lacking } = staff;
    const lower = upper - 1;
    this.#staffing.at(lower, this.#needAt(lower, foretold), factors, staff);
    if (staff.lacking < lacking) return lower;
    if (staff.lacking === lacking && staff.micros < micros) return lower;
    this.#staffing.at(upper, this.#needAt(upper, foretold), factors, staff);
    return upper;
  }

  /**
   * Returns the need as a ratio to the load of a level: measured and predicted load, times the pace
   * of the workers.
   */
  #needAt(level: number, foretold: number): number {
    const came = this.#loads[level]!.needOf(this.#envelope.maxima);
    const ratio = Math.max(came, foretold / this.#bundle.levels[level]!.capacityQps);
    return ratio * this.#pace;
  }

  #lookBack(nowMs: number, state: StageState): void {
    const likelyQps = this.#meanQps(1);
    if (Number.isNaN(likelyQps)) return;
    const { factors } = this.#fanouts;
    const sureQps = this.#sureQps();
    if (this.#options.catchesUp) {
      const load = { sureQps: sureQps * this.#pace, likelyQps: likelyQps * this.#pace };
      this.#catchUp.look({ nowMs, ...load, factors }, this.#stages, this.targets, state);
    }
    const { throughputQps, waitMs } = this.#timely[this.#level]!;
    const profiledQps = carriedQpsOf(this.#stages, throughputQps, factors, state.readyByTask);
    const carriedQps = profiledQps / this.#pace;
    const meanQps = this.#meanQps(this.#activationBeats);
    this.#reserve.look({ nowMs, sureQps, lastQps: likelyQps, meanQps, carriedQps, waitMs });
  }

  /** Activation time in beats; as long as rates are known for, in whole tenths. */
  get #activationBeats(): number {
    const tenths = Math.round((10 * this.#bundle.policy.activationMs) / this.#beatMs);
    return Math.min(Math.max(tenths / 10, 1), HISTORY_BEATS);
  }

  /** Returns the mean rate over the last beats; NaN if unknown. */
  #meanQps(beats: number): number {
    return (1000 * this.#history.meanOver(beats)) / this.#beatMs;
  }

  /** Returns the rate that the newest traffic certainly has. */
  #sureQps(): number {
    const deviations = NOW_SIGMAS * Math.sqrt(this.#dispersion);
    let sure = 0;
    for (const beats of NOW_WINDOWS) {
      if (beats > this.#history.knownBeats) break;
      const count = this.#history.meanOver(beats) * beats;
      sure = Math.max(sure, sureMean(count, deviations) / beats);
    }
    return (1000 * sure) / this.#beatMs;
  }

  /** @returns whether a target has changed. */
  #setTargets(): boolean {
    let isChanged = false;
    const reserveQps = this.#reserve.qps;
    for (let task = 0; task < this.targets.length; task++) {
      const most = this.#staffing.mostOf(this.#level, task);
      const held = reserveQps > 0 ? this.#heldFor(reserveQps * this.#pace, task) : 1;
      const wanted = Math.max(this.#wanted[task]!, this.#catchUp.replicas[task]!, held);
      const target = Math.min(wanted, most);
      if (target === this.targets[task]) continue;
      this.targets[task] = target;
      isChanged = true;
    }
    return isChanged;
  }

  #heldFor(qps: number, task: number): number {
    const { costPerHour } = this.#bundle.levels[this.#level]!.plan;
    const stage = this.#stages[task]!;
    const timelyQps = this.#timely[this.#level]!.throughputQps[task]!;
    const held = replicasFor(qps, stage, timelyQps, this.#fanouts.factors[task]!);
    const micros = priceMicros(this.#bundle.cluster.pools[stage.pool]!);
    return micros <= CHEAP_PART * MICROS * costPerHour ? held + 1 : held;
  }

  #setLimits(): void {
    const ratio = this.#staffing.enoughFor(this.#level, this.#fanouts.factors, this.#wanted);
    this.#loads[this.#level]!.setLimits(ratio / this.#pace, this.#limits);
  }
}

/** Doubles the shortest window of the levels until it is as long as the memory. */
function windowsOf({ levels }: InferlineBundle, memoryMs: number, leastMs: number): Float64Array {
  const shortest = levels.map(({ sample }) => sample.envelope.windowMs.data[0]!);
  const windows: number[] = [];
  const first = Math.max(leastMs, Math.min(...shortest));
  for (let ms = first; ms < memoryMs; ms *= 2) windows.push(ms);
  return Float64Array.from([...windows, memoryMs]);
}
