/**
 * Ray Serve's autoscaler: replicas for the mean number of ongoing requests, after a delay.
 *
 * Source: the documentation of Ray Serve, "Advanced Ray Serve Autoscaling", and
 * `python/ray/serve/autoscaling_policy.py` with the defaults of `config.py` (Apache-2.0; read, not
 * copied). Fixed here: decisions come every second, not every tenth of one, since metrics change
 * every 10 s; ongoing requests are those that wait and those that run. Options are those of
 * `num_replicas="auto"`.
 */
import { type Scaler, type StageScaler, type StageState, scalerOf } from "./scaler.ts";
import { WindowMean } from "./window-mean.ts";

interface RayServeOptions {
  readonly [option: string]: number;
  readonly maxReplicas: number;
  readonly lookBackPeriodS: number;
  readonly metricsIntervalS: number;
  readonly upscaleDelayS: number;
  readonly downscaleDelayS: number;
  readonly upscalingFactor: number;
  readonly downscalingFactor: number;
}

const LOOP_MS = 1000;
/** Ongoing requests per replica. */
const TARGETS = [0.15, 0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 3, 5];

export const rayServe: Scaler = scalerOf<RayServeOptions>({
  periodMs: LOOP_MS,
  target: 2,
  options: {
    maxReplicas: 100,
    lookBackPeriodS: 30,
    metricsIntervalS: 10,
    upscaleDelayS: 30,
    downscaleDelayS: 600,
    upscalingFactor: 1,
    downscalingFactor: 1,
  },
  tried: [
    { options: {}, targets: TARGETS },
    { options: { upscaleDelayS: 0, downscaleDelayS: 60 }, targets: TARGETS },
    {
      options: { upscaleDelayS: 0, downscaleDelayS: 120, lookBackPeriodS: 10, metricsIntervalS: 2 },
      targets: TARGETS,
    },
  ],
  open: (_facts, target, options) => new OngoingScaler(target, options),
});

class OngoingScaler implements StageScaler {
  readonly #target: number;
  readonly #options: RayServeOptions;
  readonly #ongoing: WindowMean;
  #reportedMs = 0;
  #mean = Number.NaN;
  /** Consecutive decisions for more replicas; negative for fewer. */
  #decisions = 0;

  constructor(target: number, options: RayServeOptions) {
    this.#target = target;
    this.#options = options;
    this.#ongoing = new WindowMean(Math.ceil((1000 * options.lookBackPeriodS) / LOOP_MS));
  }

  decide({ nowMs, target: current, ready, inStageMs }: StageState): number {
    const { lookBackPeriodS, metricsIntervalS } = this.#options;
    this.#ongoing.push(nowMs, inStageMs);
    if (nowMs - this.#reportedMs >= 1000 * metricsIntervalS - 1e-6) {
      this.#reportedMs = nowMs;
      this.#mean = this.#ongoing.over(1000 * lookBackPeriodS);
    }
    if (Number.isNaN(this.#mean)) return current;
    return this.#delayed(this.#desired(ready), current);
  }

  #desired(ready: number): number {
    const { upscalingFactor, downscalingFactor, maxReplicas } = this.#options;
    const desired = this.#mean / this.#target;
    const factor = desired > ready ? upscalingFactor : downscalingFactor;
    const scaled = Math.ceil(ready + factor * (desired - ready));
    const isStuck = Math.ceil(desired) < ready && scaled === ready;
    return Math.min(Math.max(1, isStuck ? scaled - 1 : scaled), maxReplicas);
  }

  #delayed(desired: number, current: number): number {
    const { upscaleDelayS, downscaleDelayS } = this.#options;
    const direction = Math.sign(desired - current);
    if (direction === 0 || Math.sign(this.#decisions) === -direction) this.#decisions = 0;
    this.#decisions += direction;
    const delayS = direction > 0 ? upscaleDelayS : downscaleDelayS;
    if (Math.abs(this.#decisions) <= Math.floor((1000 * delayS) / LOOP_MS)) return current;
    this.#decisions = 0;
    return desired;
  }
}
