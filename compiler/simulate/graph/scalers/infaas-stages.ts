/**
 * INFaaS' autoscaler on the stages of a pipeline, each of which is its own model.
 *
 * Source: Romero et al., "INFaaS: Automated Model-less Inference Serving", ATC 2021, with the rule
 * of `src/worker/autoscaler.cc` as the design page has it. Fixed here: stages keep the hardware and
 * the batch of a plan, so that replicating is the only action; an instance is removed only if the
 * rule would not add it again at once.
 */
import {
  type Scaler,
  type StageFacts,
  type StageScaler,
  type StageState,
  scalerOf,
  throughputOf,
} from "./scaler.ts";
import { WindowMean } from "./window-mean.ts";

interface InfaasOptions {
  readonly [option: string]: number;
  /** Fraction of an instance kept in reserve for each ms of loading time. */
  readonly slackPerMs: number;
  /** An instance is removed when the others could have carried the load for this long. */
  readonly downAfterS: number;
}

const PERIOD_MS = 1000;
/** Fractions of an instance's throughput to plan for. */
const TARGETS = [0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.95];

export const infaasStages: Scaler = scalerOf<InfaasOptions>({
  periodMs: PERIOD_MS,
  target: 0.95,
  options: { slackPerMs: 2e-4, downAfterS: 10 },
  tried: [
    { options: {}, targets: TARGETS },
    { options: { slackPerMs: 0, downAfterS: 60 }, targets: TARGETS },
  ],
  open: (facts, target, options) => new InstanceScaler(facts, target, options),
});

class InstanceScaler implements StageScaler {
  readonly #capacityQps: number;
  /** Instances in reserve beyond the load. */
  readonly #slack: number;
  readonly #downMs: number;
  readonly #arrived = new WindowMean(1);
  #spareSinceMs = Number.NaN;

  constructor(facts: StageFacts, target: number, { slackPerMs, downAfterS }: InfaasOptions) {
    this.#capacityQps = target * throughputOf(facts);
    this.#slack = slackPerMs * facts.startMs;
    this.#downMs = 1000 * downAfterS;
  }

  decide({ nowMs, target, arrived }: StageState): number {
    this.#arrived.push(nowMs, 1000 * arrived);
    const instances = this.#arrived.over(PERIOD_MS) / this.#capacityQps + this.#slack;
    const isSpare = target > 1 && instances <= target - 1;
    if (!isSpare) {
      this.#spareSinceMs = Number.NaN;
      return Math.max(target, Math.ceil(instances));
    }
    if (Number.isNaN(this.#spareSinceMs)) this.#spareSinceMs = nowMs;
    if (nowMs - this.#spareSinceMs < this.#downMs) return target;
    this.#spareSinceMs = nowMs;
    return target - 1;
  }
}
