/** Times of answered requests as histograms whose buckets follow the SLO. */
import { Histogram, head, type Labels, line, type MetricLine } from "../../base/exposition.ts";

/** Shares of the SLO; around 1 they are close, for that is where a promise is kept or broken. */
const SLO_SHARES = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 4];

const REQUEST = "stratagem_request_duration_seconds";
const PHASE = "stratagem_request_phase_seconds";
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
    return [
      head(REQUEST, "histogram", "Time of answered requests, from arrival to answer"),
      ...models.flatMap(([model, one]) => one.#request.lines(REQUEST, { model })),
      head(PHASE, "histogram", "Time answered requests waited in the queue, and were computed"),
      ...models.flatMap(([model, one]) => [
        ...one.#queue.lines(PHASE, { model, phase: "queue" }),
        ...one.#compute.lines(PHASE, { model, phase: "compute" }),
      ]),
      head(PENDING, "gauge", "Requests for inference without an answer"),
      ...models.map(([model, { pending }]) => line(PENDING, { model }, pending)),
      ...sloLines(models.map(([model, one]) => [{ model }, one.#sloMs])),
    ];
  }
}

/** @param slosMs by model or class. */
export function sloLines(
  slosMs: readonly (readonly [labels: Labels, sloMs: number])[],
): MetricLine[] {
  return [
    head(SLO, "gauge", "Time within which requests must be answered, by class where there are any"),
    ...slosMs.map(([labels, sloMs]) => line(SLO, labels, secondsOf(sloMs))),
  ];
}

/** Whole microseconds, so that bounds are short in text. */
function secondsOf(ms: number): number {
  return Math.round(ms * 1000) / 1e6;
}
