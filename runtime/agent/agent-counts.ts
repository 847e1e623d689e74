/** Counts of an agent's batches, named as in Triton where it has the same. */
import { Histogram, head, line, type MetricLine } from "../base/exposition.ts";
import { RequestMetrics } from "../server/requests/request-metrics.ts";

/** Models whose counts are kept, including models no longer held. */
const MAX_MODELS = 256;
const RUN_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

/** Reasons why a batch was not started. */
export const REFUSALS = ["busy", "double", "fenced", "late", "not_ready", "gone"] as const;
export type BatchRefusal = (typeof REFUSALS)[number];

/** Durations of an answered batch, ms. */
export interface BatchSpans {
  readonly rows: number;
  /** From its head until it was answered. */
  readonly requestMs: number;
  /** Part of that: receiving its bytes and waiting for its turn. */
  readonly queueMs: number;
  /** In the process of the model. */
  readonly wallMs: number;
  /** Until the process had computed it. */
  readonly runMs: number;
}

export class AgentCounts {
  readonly #byModel = new Map<string, RequestMetrics>();
  readonly #runs = new Histogram(RUN_SECONDS);
  readonly #refused = new Map<BatchRefusal, number>(REFUSALS.map((reason) => [reason, 0]));

  of(model: string): RequestMetrics {
    let found = this.#byModel.get(model);
    if (found === undefined) {
      if (this.#byModel.size >= MAX_MODELS) this.#byModel.clear();
      found = new RequestMetrics(model);
      this.#byModel.set(model, found);
    }
    return found;
  }

  onRefused(reason: BatchRefusal): void {
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + 1);
  }

  onAnswered(model: string, spans: BatchSpans, nowMs: number): void {
    const { rows, requestMs, queueMs, wallMs, runMs } = spans;
    const metrics = this.of(model);
    const outputMs = Math.max(0, requestMs - queueMs - runMs);
    const inputMs = Math.max(0, runMs - wallMs);
    metrics.onBatchDone({ rows }, { inputMs, inferMs: wallMs, outputMs });
    metrics.onRequestAnswered({ requestMs, queueMs, inputMs, inferMs: wallMs, outputMs }, nowMs);
    this.#runs.observe(wallMs / 1000);
  }

  lines(): MetricLine[] {
    const refused = "stratagem_agent_refused_total";
    const ran = "stratagem_agent_run_seconds";
    return [
      ...RequestMetrics.tritonLines([...this.#byModel.values()]),
      head(ran, "histogram", "Time of batches in the processes of their models"),
      ...this.#runs.lines(ran, {}),
      head(refused, "counter", "Batches that were not started, by reason"),
      ...[...this.#refused].map(([reason, count]) => line(refused, { reason }, count)),
    ];
  }
}
