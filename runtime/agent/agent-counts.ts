/** Counts of an agent's batches, under Triton's names where it has them. */
import type { MetricLine } from "../base/exposition.ts";
import { refusedLines } from "../base/metric-families.ts";
import { RequestMetrics } from "../server/requests/request-metrics.ts";

/** Models whose counts are kept, including models no longer held. */
const MAX_MODELS = 256;

/** Why a batch was not begun. */
const REFUSALS = ["busy", "double", "fenced", "late", "not_ready", "gone"] as const;
export type BatchRefusal = (typeof REFUSALS)[number];

/** Times of an answered batch, ms. */
interface BatchSpans {
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
  }

  lines(): MetricLine[] {
    return [
      ...RequestMetrics.tritonLines([...this.#byModel.values()]),
      ...refusedLines("batch", this.#refused),
    ];
  }
}
