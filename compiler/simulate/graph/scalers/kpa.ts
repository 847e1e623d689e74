/**
 * Knative's pod autoscaler: replicas for the mean concurrency of a minute, and in panic mode for
 * that of six seconds.
 *
 * Source: the documentation of Knative serving, "Additional autoscaling configuration for Knative
 * Pod Autoscaler", and `pkg/autoscaler/scaling/autoscaler.go` (Apache-2.0; read, not copied). Fixed
 * here: a request counts from its arrival at the stage, waiting or not, as the activator and the
 * queue proxies together count it; there is always a replica, since scaling to zero only adds cold
 * starts.
 */
import {
  type Scaler,
  type StageFacts,
  type StageScaler,
  type StageState,
  scalerOf,
} from "./scaler.ts";
import { WindowMean } from "./window-mean.ts";

interface KpaOptions {
  readonly [option: string]: number;
  /** Fraction of the target to aim for. */
  readonly utilization: number;
  readonly stableWindowS: number;
  /** Fraction of the stable window. */
  readonly panicWindow: number;
  /** Multiple of what the ready replicas carry. */
  readonly panicThreshold: number;
  readonly maxScaleUpRate: number;
  readonly maxScaleDownRate: number;
}

const TICK_MS = 2000;
/** Queries in the stage per replica. */
const TARGETS = [0.2, 0.35, 0.5, 0.7, 1, 1.4, 2, 3, 5, 10];

export const kpa: Scaler = scalerOf<KpaOptions>({
  periodMs: TICK_MS,
  target: 100,
  options: {
    utilization: 0.7,
    stableWindowS: 60,
    panicWindow: 0.1,
    panicThreshold: 2,
    maxScaleUpRate: 1000,
    maxScaleDownRate: 2,
  },
  tried: [
    { options: {}, targets: TARGETS },
    { options: { stableWindowS: 20, panicWindow: 0.2 }, targets: TARGETS },
    { options: { stableWindowS: 300, panicWindow: 0.02 }, targets: TARGETS },
  ],
  open: (facts, target, options) => new PodAutoscaler(facts, target, options),
});

class PodAutoscaler implements StageScaler {
  readonly #target: number;
  readonly #options: KpaOptions;
  readonly #stableMs: number;
  readonly #concurrency: WindowMean;
  /** Start of panic mode, NaN outside it; and its highest request for replicas. */
  #panicMs = Number.NaN;
  #panicReplicas = 0;

  constructor({ replicas }: StageFacts, target: number, options: KpaOptions) {
    this.#target = target * options.utilization;
    this.#options = options;
    this.#stableMs = 1000 * options.stableWindowS;
    this.#concurrency = new WindowMean(Math.ceil(this.#stableMs / TICK_MS));
    // A new autoscaler does not know the traffic yet and removes nothing until it does.
    if (replicas > 1) this.#panicMs = 0;
    this.#panicReplicas = replicas;
  }

  decide({ nowMs, ready, inStageMs }: StageState): number {
    const { panicWindow, panicThreshold } = this.#options;
    this.#concurrency.push(nowMs, inStageMs);
    const up = Math.max(1, ready);
    const stable = this.#concurrency.over(this.#stableMs) / this.#target;
    const panic = this.#concurrency.over(panicWindow * this.#stableMs) / this.#target;
    const wanted = this.#bounded(stable, up);
    if (Math.ceil(panic) / up >= panicThreshold) this.#panicMs = nowMs;
    else if (nowMs > this.#panicMs + this.#stableMs) {
      this.#panicMs = Number.NaN;
      this.#panicReplicas = 0;
    }
    if (Number.isNaN(this.#panicMs)) return wanted;
    const most = Math.max(wanted, this.#bounded(panic, up));
    this.#panicReplicas = Math.max(this.#panicReplicas, most);
    return this.#panicReplicas;
  }

  /** Rounds up, and limits the factor of change relative to ready replicas. */
  #bounded(replicas: number, up: number): number {
    const most = Math.ceil(this.#options.maxScaleUpRate * up);
    const least = Math.floor(up / this.#options.maxScaleDownRate);
    return Math.min(Math.max(Math.ceil(replicas), least), most);
  }
}
