/**
 * Kubernetes' horizontal pod autoscaler on processor use.
 *
 * Source: the documentation of Kubernetes, "Horizontal Pod Autoscaling", with the defaults of
 * `pkg/apis/autoscaling/v2/defaults.go` and the arithmetic of
 * `pkg/controller/podautoscaler/replica_calculator.go` (Apache-2.0; read, not copied). Fixed here:
 * a replica that runs a batch uses all that it requests, an idle one uses nothing; the metric
 * covers the 15 s before the poll, without delay.
 */
import { HpaBehaviour, SYNC_MS, TOLERANCE } from "./hpa-behaviour.ts";
import { type Scaler, type StageScaler, type StageState, scalerOf } from "./scaler.ts";
import { WindowMean } from "./window-mean.ts";

interface HpaOptions {
  readonly [option: string]: number;
  readonly downStabilizationS: number;
}

/** Fraction of the time that a replica is busy. */
const TARGETS = [0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

export const hpa: Scaler = scalerOf<HpaOptions>({
  periodMs: SYNC_MS,
  target: 0.8,
  options: { downStabilizationS: 300 },
  tried: [300, 60, 0].map((downStabilizationS) => ({
    options: { downStabilizationS },
    targets: TARGETS,
  })),
  open: (_facts, target, options) => new UtilisationScaler(target, options),
});

class UtilisationScaler implements StageScaler {
  readonly #target: number;
  readonly #busy = new WindowMean(1);
  readonly #behaviour: HpaBehaviour;

  constructor(target: number, { downStabilizationS }: HpaOptions) {
    this.#target = target;
    this.#behaviour = new HpaBehaviour(1000 * downStabilizationS);
  }

  decide({ nowMs, target: current, ready, busyMs }: StageState): number {
    this.#busy.push(nowMs, busyMs);
    const busy = this.#busy.over(SYNC_MS);
    return this.#behaviour.next(this.#recommended(busy, current, ready), current, nowMs);
  }

  /** @param busy replicas, mean. */
  #recommended(busy: number, current: number, ready: number): number {
    const up = Math.min(Math.max(1, ready), current);
    const ratio = busy / (up * this.#target);
    const isAllUp = up >= current;
    if (isAllUp || ratio <= 1) {
      if (Math.abs(ratio - 1) <= TOLERANCE) return current;
      return Math.ceil(ratio * up);
    }
    // Replicas that are starting count as idle, so that they are not requested again.
    const withAll = busy / (current * this.#target);
    if (withAll <= 1 + TOLERANCE) return current;
    return Math.ceil(withAll * current);
  }
}
