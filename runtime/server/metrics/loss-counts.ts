/** Counts the workers that were lost, and the queries that were tried again after it. */
import { type MetricLine, metric } from "../../base/exposition.ts";

export class LossCounts {
  queriesRetried = 0;
  #lost = 0;
  #hung = 0;

  /** @param isHung whether it did not answer in time. */
  onWorkerLost(isHung: boolean): void {
    this.#lost++;
    if (isHung) this.#hung++;
  }

  lines(): MetricLine[] {
    return [
      ...metric("stratagem_workers_lost_total", "counter", "Workers that ended", this.#lost),
      ...metric(
        "stratagem_workers_hung_total",
        "counter",
        "Workers of these that were ended because they did not answer in time",
        this.#hung,
      ),
      ...metric(
        "stratagem_queries_retried_total",
        "counter",
        "Queries that were tried again because their worker was lost",
        this.queriesRetried,
      ),
    ];
  }
}
