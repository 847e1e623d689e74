/** Counts the workers that were lost, and the queries that were retried on another. */
import { type MetricLine, metric } from "../../base/exposition.ts";
import { lostWorkerLines } from "../../base/metric-families.ts";
import type { LossCause } from "../../exec/models/scaler.ts";

export class LossCounts {
  queriesRetried = 0;
  readonly #lost = { ended: 0, hung: 0, failing: 0 };

  onWorkerLost(cause: LossCause): void {
    this.#lost[cause]++;
  }

  lines(): MetricLine[] {
    return [
      ...lostWorkerLines(Object.entries(this.#lost).map(([reason, count]) => [{ reason }, count])),
      ...metric(
        "stratagem_queries_retried_total",
        "counter",
        "Queries retried because their worker was lost, or failed their batch",
        this.queriesRetried,
      ),
    ];
  }
}
