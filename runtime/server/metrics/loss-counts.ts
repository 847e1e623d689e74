/** Counts the workers that were lost, and the queries that were tried again after it. */
import { type MetricLine, metric } from "../../base/exposition.ts";
import { lostWorkerLines } from "../../base/metric-families.ts";

export class LossCounts {
  queriesRetried = 0;
  readonly #lost = { ended: 0, hung: 0 };

  /** @param isHung whether it did not answer in time. */
  onWorkerLost(isHung: boolean): void {
    this.#lost[isHung ? "hung" : "ended"]++;
  }

  lines(): MetricLine[] {
    return [
      ...lostWorkerLines(Object.entries(this.#lost).map(([reason, count]) => [{ reason }, count])),
      ...metric(
        "stratagem_queries_retried_total",
        "counter",
        "Queries retried after the loss of their worker",
        this.queriesRetried,
      ),
    ];
  }
}
