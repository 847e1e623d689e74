/** Times that bundles promise for answered requests, in the buckets of the measured ones. */
import { Histogram, type MetricLine } from "../../base/exposition.ts";
import { quantileKnots } from "../../core/quantile-distribution.ts";
import type { PromisedLatency, Reading } from "../../server/measures/watched.ts";
import { timeBoundsSeconds } from "../../server/metrics/histogram-bounds.ts";
import { expectedTimeLines, expectTimes } from "../../server/metrics/promise-lines.ts";
import type { EndpointModel } from "../../server/requests/endpoint.ts";

interface ModelTimes {
  readonly model: EndpointModel;
  readonly latency: Histogram;
  readonly queue: Histogram;
  /** Requests that have been answered until the last look. */
  answered: number;
}

/**
 * Nothing is done per request: each look adds the requests answered since the last one, with the
 * promise in force now.
 */
export class PredictedTimes {
  readonly #models: readonly ModelTimes[];

  constructor(models: readonly EndpointModel[], sloMs: number) {
    this.#models = models.map((model) => {
      const classes = model.classes?.stated.map(({ latencyMs }) => latencyMs);
      const histogram = () => new Histogram(timeBoundsSeconds(sloMs, classes));
      const { successCount: answered } = model.metrics;
      return { model, latency: histogram(), queue: histogram(), answered };
    });
  }

  look({ promised, loadQps, topLevelQps }: Reading): void {
    const isPromised = promised?.feasible === true && !(loadQps > topLevelQps);
    const latency = isPromised && promised.latencyMs && knotsOf(promised.latencyMs);
    const queue = isPromised && promised.queueMs && knotsOf(promised.queueMs);
    for (const one of this.#models) {
      const { successCount } = one.model.metrics;
      const count = successCount - one.answered;
      one.answered = successCount;
      if (latency && count > 0) expectTimes(one.latency, count, latency);
      if (queue && count > 0) expectTimes(one.queue, count, queue);
    }
  }

  lines(): MetricLine[] {
    return (["latency", "queue"] as const).flatMap((figure) =>
      expectedTimeLines(
        figure,
        this.#models.map((one) => [{ model: one.model.signature.names[0] ?? "" }, one[figure]]),
      ),
    );
  }
}

/** Part of the way from p50 to p99 at which an exponential distribution has its p95. */
const P95_BETWEEN = Math.log(0.5 / 0.05) / Math.log(0.5 / 0.01);

/** Percentiles from p50 on are the promised ones; values below it are spread evenly from 0. */
function knotsOf({ p50, p99, p95 = p50 + P95_BETWEEN * (p99 - p50) }: PromisedLatency) {
  return quantileKnots(p50, p95, p99, 0);
}
