/** Tunes replicas by the envelope of recent traffic. */
import type { InferlineBundle, InferlineLevel, StagePlan } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import { beatMsOf } from "../../../core/beat.ts";
import { dispersionOf } from "./dispersion.ts";
import { RecentFanouts } from "./recent-fanouts.ts";
import { RecentRates } from "./recent-rates.ts";
import type { ReplicaTuner, StageState } from "./replica-tuner.ts";
import { TrailingEnvelope } from "./traffic-envelope.ts";

// Times are in beats.

/** Windows lie within a time of this length that ends now. Source: InferLine §5, 60 s. */
const HORIZON = 60;
/** Time between two evaluations; the paper says "continuously". */
const TICK = 1;
/**
 * Beats after the last change during which no replicas go. Source: InferLine §5, 15 s, three times
 * the start of a replica.
 */
const SETTLE = 15;
/** A product that exceeds a whole number by this part of it is that number. */
const ROUNDING = 1e-9;

type TunerRule = "relative" | "paper";

/**
 * Follows the traffic by its envelope of the last 60 beats, compared with that of the traces that
 * the plan was made on.
 *
 * Relative: a task gets its planned replicas times the excess, the largest ratio of an observed
 * count to the sample's, at once; and the most of this and the planned replicas times the ratio of
 * recent to sample peak rate once the targets have not changed for 15 beats. Below the plan an
 * excess is under 1. A count may exceed the sample's by `policy.tolerance` standard deviations of a
 * count of that size before it is an excess. Without tolerance the same traffic exceeds its sample
 * at some window for three quarters of the time or more, and plans of few replicas cost 14 to 36 %
 * more; with a tolerance of one they cost 5 to 14 % more, but an increase of the burstiness alone
 * is noticed later.
 *
 * If fan-outs certainly make more queries of a request than the plan counts with, the replicas of
 * the tasks behind them are multiplied by the same factor.
 *
 * Paper: InferLine's Algorithms 3 and 4 as printed, except that a task keeps at least one replica
 * and that none go before there are 30 beats of history. Their weaknesses, which the other rule
 * avoids:
 * - a rate of a short window counts against the mean that the plan carries, so that ordinary bursts
 *   call for a multiple of the plan;
 * - once replicas have gone, traffic that comes back calls for them only if it exceeds the sample;
 * - what goes after 15 beats comes back at the next tick while the burst that called for it is in
 *   the envelope.
 */
export class EnvelopeTuner implements ReplicaTuner {
  readonly targets: Uint32Array;
  wakeMs = Number.POSITIVE_INFINITY;
  readonly #bundle: InferlineBundle;
  readonly #rule: TunerRule;
  readonly #rates: RecentRates;
  readonly #beatMs: number;
  readonly #fanouts: RecentFanouts;
  readonly #envelope: TrailingEnvelope;
  #level: InferlineLevel;
  /**
   * [windowCount]: of the sample; a window that holds no request of it counts as one that holds
   * one.
   */
  #sampleRequests: Float64Array;
  /** [windowCount]: counts up to here are no excess: the sample's and the tolerance. */
  #tolerated: Float64Array;
  /** Counts that must be exceeded before a target rises, [windowCount]. */
  #limits: Float64Array;
  /** [taskCount]: workers of the pools that the plan has the tasks on. */
  readonly #most: Uint32Array;
  #changedMs = Number.NEGATIVE_INFINITY;
  #pace = 1;

  constructor(bundle: InferlineBundle, rule: TunerRule, level: number) {
    const taskCount = bundle.tasks.length;
    this.#bundle = bundle;
    this.#rule = rule;
    this.#beatMs = beatMsOf(bundle.slo);
    this.#rates = new RecentRates(this.#beatMs);
    this.#fanouts = new RecentFanouts(bundle);
    this.#level = levelOf(bundle, level);
    this.#envelope = new TrailingEnvelope(windowsOf(this.#level), horizonMs(bundle));
    this.#sampleRequests = sampleOf(this.#level);
    this.#tolerated = toleratedOf(this.#sampleRequests, bundle);
    this.#limits = new Float64Array(this.#sampleRequests.length);
    this.targets = new Uint32Array(taskCount);
    this.#most = new Uint32Array(taskCount);
    this.#startFromPlan();
  }

  get recentMeanQps(): number {
    return this.#rates.recentMeanQps;
  }

  /** [windowCount]: lengths of the windows of the plan in force. */
  get windowMs(): Float64Array {
    return this.#envelope.windowMs;
  }

  /**
   * Largest ratio of an observed count to the sample's, one within the tolerance being 1 at most;
   * above 1 the traffic is more, or more bursty, than the plan is for.
   */
  get excess(): number {
    const observed = this.#envelope.maxima;
    const sample = this.#sampleRequests;
    const tolerated = this.#tolerated;
    let excess = 0;
    for (let window = 0; window < sample.length; window++) {
      const count = observed[window]!;
      let ratio = count / sample[window]!;
      if (ratio > 1 && count <= tolerated[window]!) ratio = 1;
      if (ratio > excess) excess = ratio;
    }
    return excess;
  }

  onArrival(nowMs: number): boolean {
    if (this.wakeMs === Number.POSITIVE_INFINITY) this.wakeMs = nowMs + TICK * this.#beatMs;
    this.#rates.recordRequest(nowMs);
    this.#fanouts.recordRequest();
    this.#envelope.record(nowMs);
    return this.#rule === "relative" && this.#exceedsLimits() && this.#raise(nowMs);
  }

  onQuery(task: number): void {
    if (this.#fanouts.isUsed) this.#fanouts.recordQuery(task);
  }

  tick(nowMs: number, { pace = 1 }: Pick<StageState, "pace"> = {}): boolean {
    if (!(nowMs >= this.wakeMs)) return false;
    if (pace !== this.#pace) {
      this.#pace = pace;
      this.#setLimits();
    }
    const tickMs = TICK * this.#beatMs;
    this.wakeMs += (Math.floor((nowMs - this.wakeMs) / tickMs) + 1) * tickMs;
    this.#rates.advance(nowMs);
    this.#envelope.advance(nowMs);
    if (this.#fanouts.advance(nowMs, this.#level.plan.stages)) this.#setLimits();
    const isRaised = this.#raise(nowMs);
    return this.#lower(nowMs) || isRaised;
  }

  follow(level: number, nowMs: number): void {
    this.#level = levelOf(this.#bundle, level);
    this.#rates.advance(nowMs);
    this.#envelope.advance(nowMs);
    const windowMs = windowsOf(this.#level);
    if (!isSame(windowMs, this.windowMs)) this.#envelope.setWindows(windowMs);
    this.#sampleRequests = sampleOf(this.#level);
    this.#tolerated = toleratedOf(this.#sampleRequests, this.#bundle);
    this.#limits = new Float64Array(windowMs.length);
    this.#startFromPlan();
    this.#changedMs = nowMs;
    this.#raise(nowMs);
  }

  #startFromPlan(): void {
    const { pools } = this.#bundle.cluster;
    for (const [task, { pool, replicas }] of this.#level.plan.stages.entries()) {
      this.#most[task] = Math.max(pools[pool]?.workers ?? 0, replicas, 1);
      this.targets[task] = Math.max(replicas, 1);
    }
    this.#setLimits();
  }

  /** @returns whether a target has risen. */
  #raise(nowMs: number): boolean {
    const { stages } = this.#level.plan;
    const isPaper = this.#rule === "paper";
    const excess = this.excess * this.#pace;
    const qps = isPaper ? this.#excessiveQps() * this.#pace : 0;
    let isChanged = false;
    for (let task = 0; task < stages.length; task++) {
      const stage = stages[task]!;
      const replicas = isPaper
        ? replicasFor(qps, stage, stage.provisioningRatio)
        : stage.replicas * excess * this.#fanouts.factors[task]!;
      const wanted = this.#whole(replicas, task);
      if (wanted <= this.targets[task]!) continue;
      this.targets[task] = wanted;
      isChanged = true;
    }
    if (isChanged) this.#noteChange(nowMs);
    return isChanged;
  }

  /** @returns whether a target has fallen. */
  #lower(nowMs: number): boolean {
    const peakQps = this.#rates.recentPeakQps;
    if (Number.isNaN(peakQps) || !(nowMs - this.#changedMs > SETTLE * this.#beatMs)) return false;
    const { plan, sample } = this.#level;
    const isPaper = this.#rule === "paper";
    // The replicas that the envelope calls for stay, or they would be raised again at once.
    const ratio = Math.max(peakQps / sample.peakQps, this.excess) * this.#pace;
    const provisioning = leastProvisioning(plan.stages);
    let isChanged = false;
    for (let task = 0; task < plan.stages.length; task++) {
      const stage = plan.stages[task]!;
      const replicas = isPaper
        ? replicasFor(peakQps * this.#pace, stage, provisioning)
        : stage.replicas * ratio * this.#fanouts.factors[task]!;
      const wanted = this.#whole(replicas, task);
      if (wanted >= this.targets[task]!) continue;
      this.targets[task] = wanted;
      isChanged = true;
    }
    // Algorithm 4 does not set LastUpdate, so more may go a beat later.
    if (isChanged && !isPaper) this.#noteChange(nowMs);
    return isChanged;
  }

  /**
   * Returns the highest rate of the windows that exceed the sample's; 0 if none does. Algorithm 3,
   * lines 2 to 6.
   */
  #excessiveQps(): number {
    const { maxima, windowMs } = this.#envelope;
    let qps = 0;
    for (let window = 0; window < maxima.length; window++) {
      if (!(maxima[window]! > this.#sampleRequests[window]!)) continue;
      const observedQps = (1000 * maxima[window]!) / windowMs[window]!;
      if (observedQps > qps) qps = observedQps;
    }
    return qps;
  }

  #exceedsLimits(): boolean {
    const observed = this.#envelope.maxima;
    const limits = this.#limits;
    for (let window = 0; window < limits.length; window++) {
      if (observed[window]! > limits[window]!) return true;
    }
    return false;
  }

  #noteChange(nowMs: number): void {
    this.#changedMs = nowMs;
    this.#setLimits();
  }

  /**
   * The excess beyond which the first target rises, as counts: most arrivals then cost no more than
   * comparing with them.
   */
  #setLimits(): void {
    let excess = Number.POSITIVE_INFINITY;
    for (const [task, { replicas }] of this.#level.plan.stages.entries()) {
      const target = this.targets[task]!;
      const factor = this.#fanouts.factors[task]!;
      if (target < this.#most[task]!) excess = Math.min(excess, target / replicas / factor);
    }
    excess /= this.#pace;
    const limits = this.#limits;
    for (let window = 0; window < limits.length; window++) {
      const limit = excess * this.#sampleRequests[window]!;
      limits[window] = excess < 1 ? limit : Math.max(limit, this.#tolerated[window]!);
    }
  }

  /** Rounds up, to at least 1 and at most the workers of the task's pool. */
  #whole(replicas: number, task: number): number {
    // A task that no request reaches gives 0 / 0.
    if (!(replicas > 1)) return 1;
    return Math.min(Math.ceil(replicas * (1 - ROUNDING)), this.#most[task]!);
  }
}

/** Algorithms 3 and 4, line 8 and line 5: replicas that carry a rate at a provisioning ratio. */
function replicasFor(qps: number, stage: StagePlan, provisioningRatio: number): number {
  return (qps * stage.scaleFactor) / (stage.throughputQps * provisioningRatio);
}

/** The least of the tasks that requests reach. */
function leastProvisioning(stages: readonly StagePlan[]): number {
  let least = Number.POSITIVE_INFINITY;
  for (const { provisioningRatio } of stages) {
    if (provisioningRatio > 0 && provisioningRatio < least) least = provisioningRatio;
  }
  return least;
}

function levelOf({ levels }: InferlineBundle, level: number): InferlineLevel {
  const found = levels[level];
  assert(found !== undefined, "a level is in the bundle");
  return found;
}

/** Files before 1.9 hold windows of up to 60 s, whatever the SLO. */
function horizonMs({ slo, levels }: InferlineBundle): number {
  const longestMs = levels.map(({ sample }) => Math.max(...sample.envelope.windowMs.data));
  return Math.max(HORIZON * beatMsOf(slo), ...longestMs);
}

/** A copy: the bundle's tables may be views of its bytes. */
function windowsOf({ sample }: InferlineLevel): Float64Array {
  return Float64Array.from(sample.envelope.windowMs.data);
}

function sampleOf({ sample }: InferlineLevel): Float64Array {
  return Float64Array.from(sample.envelope.requests.data, (requests) => Math.max(requests, 1));
}

function toleratedOf(
  sampleRequests: Float64Array,
  { arrivals, policy }: Pick<InferlineBundle, "arrivals" | "policy">,
): Float64Array {
  const dispersion = dispersionOf(arrivals);
  return sampleRequests.map(
    (requests) => requests + policy.tolerance * Math.sqrt(dispersion * requests),
  );
}

function isSame(a: Float64Array, b: Float64Array): boolean {
  return a.length === b.length && a.every((ms, index) => ms === b[index]);
}
