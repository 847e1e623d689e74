/**
 * KEDA: the horizontal pod autoscaler on an external metric, here the queue of the stage or its
 * arrival rate.
 *
 * Source: the documentation of KEDA, "Scaling Deployments" and its scalers for queues (a list in
 * Redis or a queue in SQS has 5 for each replica by default, including what is in progress) and for
 * Prometheus (whose example asks for the rate of two minutes, and has no default target). Fixed
 * here: KEDA's own polling matters only between zero and one replica, and there is always one here;
 * the autoscaler reads its metrics server at every poll. A rate's target is a fraction of a
 * replica's capacity with whole batches.
 */
import { HpaBehaviour, SYNC_MS, TOLERANCE } from "./hpa-behaviour.ts";
import {
  type Scaler,
  type StageFacts,
  type StageScaler,
  type StageState,
  scalerOf,
  throughputOf,
} from "./scaler.ts";
import { WindowMean } from "./window-mean.ts";

interface KedaOptions {
  readonly [option: string]: number | string;
  readonly metric: "queue" | "rate";
  readonly downStabilizationS: number;
  /** Window of a rate. */
  readonly windowS: number;
}

/** Queries in the stage per replica. */
const QUEUES = [0.2, 0.35, 0.5, 0.7, 1, 1.4, 2, 3, 5, 10];
/** Fractions of a replica's capacity. */
const RATES = [0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

export const keda: Scaler = scalerOf<KedaOptions>({
  periodMs: SYNC_MS,
  target: 5,
  options: { metric: "queue", downStabilizationS: 300, windowS: 120 },
  tried: [
    { options: {}, targets: QUEUES },
    { options: { metric: "rate" }, targets: RATES },
    { options: { metric: "rate", downStabilizationS: 0, windowS: 30 }, targets: RATES },
  ],
  open: (facts, target, options) => new ExternalScaler(facts, target, options),
});

class ExternalScaler implements StageScaler {
  readonly #target: number;
  readonly #isRate: boolean;
  readonly #windowMs: number;
  readonly #arrived: WindowMean;
  readonly #behaviour: HpaBehaviour;

  constructor(facts: StageFacts, target: number, options: KedaOptions) {
    const { metric, windowS, downStabilizationS } = options;
    this.#isRate = metric === "rate";
    this.#target = this.#isRate ? target * throughputOf(facts) : target;
    this.#windowMs = 1000 * windowS;
    this.#arrived = new WindowMean(Math.ceil(this.#windowMs / SYNC_MS));
    this.#behaviour = new HpaBehaviour(1000 * downStabilizationS);
  }

  decide({ nowMs, target: current, waiting, running, arrived }: StageState): number {
    this.#arrived.push(nowMs, 1000 * arrived);
    const value = this.#isRate ? this.#arrived.over(this.#windowMs) : waiting + running;
    const ratio = value / (this.#target * current);
    const recommended =
      Math.abs(ratio - 1) <= TOLERANCE ? current : Math.ceil(value / this.#target);
    return this.#behaviour.next(recommended, current, nowMs);
  }
}
