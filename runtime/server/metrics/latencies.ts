/** Times of answered requests as histograms whose buckets follow the SLO. */
import { Histogram, head, line, type MetricLine } from "../../base/exposition.ts";

/** Shares of the SLO; around 1 they are close, for that is where a promise is kept or broken. */
const SLO_SHARES = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 4];

const REQUEST = "stratagem_request_duration_seconds";
const QUEUE = "stratagem_queue_duration_seconds";
const COMPUTE = "stratagem_compute_duration_seconds";
const PENDING = "stratagem_pending_requests";
const SLO = "stratagem_slo_seconds";

/** Of one model. */
export class Latencies {
  /** Requests for inference without an answer. */
  pending = 0;
  readonly #sloMs: number;
  readonly #request: Histogram;
  readonly #queue: Histogram;
  readonly #compute: Histogram;

  /** @param moreSlosMs of classes, which are bounds too. */
  constructor(sloMs: number, moreSlosMs: readonly number[] = []) {
    this.#sloMs = sloMs;
    const all = [...SLO_SHARES.map((share) => sloMs * share), ...moreSlosMs].map(secondsOf);
    const bounds = [...new Set(all)].sort((one, other) => one - other);
    this.#request = new Histogram(bounds);
    this.#queue = new Histogram(bounds);
    this.#compute = new Histogram(bounds);
  }

  onAnswered(requestMs: number, queueMs: number, inferMs: number): void {
    this.#request.observe(requestMs / 1000);
    this.#queue.observe(queueMs / 1000);
    this.#compute.observe(inferMs / 1000);
  }

  /** @param models by their names. */
  static lines(models: readonly (readonly [model: string, latencies: Latencies])[]): MetricLine[] {
    const histogram = (name: string, help: string, of: (one: Latencies) => Histogram) => [
      head(name, "histogram", help),
      ...models.flatMap(([model, one]) => of(one).lines(name, { model })),
    ];
    return [
      ...histogram(REQUEST, "Time of answered requests, from arrival to answer", (one) => {
        return one.#request;
      }),
      ...histogram(QUEUE, "Time answered requests waited", (one) => one.#queue),
      ...histogram(COMPUTE, "Time answered requests ran", (one) => one.#compute),
      head(PENDING, "gauge", "Requests for inference without an answer"),
      ...models.map(([model, { pending }]) => line(PENDING, { model }, pending)),
      head(SLO, "gauge", "Within which requests are to be answered"),
      ...models.map(([model, one]) => line(SLO, { model }, secondsOf(one.#sloMs))),
    ];
  }
}

/** Whole microseconds, so that bounds are short in text. */
function secondsOf(ms: number): number {
  return Math.round(ms * 1000) / 1e6;
}
