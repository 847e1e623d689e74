/**
 * Knative's pod autoscaler: replicas for the mean concurrency of a minute, and in panic for that of
 * six seconds.
 *
 * Source: the documentation of Knative serving, "Additional autoscaling configuration for Knative
 * Pod Autoscaler", and `pkg/autoscaler/scaling/autoscaler.go` (Apache-2.0; read, not copied).
 * Pinned: a request in the stage counts from when it comes, waiting or not, as the activator and
 * the queue proxies together count it; there is always a replica, since scaling to zero only adds
 * cold starts.
 */
import {
  type Scaler,
  type StageFacts,
  type StageScaler,
  type StageSight,
  scalerOf,
} from "./scaler.ts";
import { WindowMean } from "./window-mean.ts";

interface KpaOptions {
  readonly [option: string]: number;
  /** Part of the target that is aimed at. */
  readonly utilization: number;
  readonly stableWindowS: number;
  /** Part of the stable window. */
  readonly panicWindow: number;
  /** Times what the ready replicas carry. */
  readonly panicThreshold: number;
  readonly maxScaleUpRate: number;
  readonly maxScaleDownRate: number;
}

const TICK_MS = 2000;
/** Queries in the stage for each replica. */
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
  /** Since when there is panic, NaN without; and what it has asked for at most. */
  #panicMs = Number.NaN;
  #panicReplicas = 0;

  constructor({ replicas }: StageFacts, target: number, options: KpaOptions) {
    this.#target = target * options.utilization;
    this.#options = options;
    this.#stableMs = 1000 * options.stableWindowS;
    this.#concurrency = new WindowMean(Math.ceil(this.#stableMs / TICK_MS));
    // A new autoscaler knows nothing of the traffic and takes nothing away before it does.
    if (replicas > 1) this.#panicMs = 0;
    this.#panicReplicas = replicas;
  }

  look({ nowMs, ready, inStageMs }: StageSight): number {
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

  /** Rounded up, and at most so many times as many or as few as are up. */
  #bounded(replicas: number, up: number): number {
    const most = Math.ceil(this.#options.maxScaleUpRate * up);
    const least = Math.floor(up / this.#options.maxScaleDownRate);
    return Math.min(Math.max(Math.ceil(replicas), least), most);
  }
}
