/** Metrics of the server itself, whatever the method. */
import type { ByteBudget } from "../bodies/byte-budget.ts";
import { type MetricLine, metric } from "../metrics/exposition.ts";
import type { LoopDelay } from "../metrics/loop-delay.ts";

export function serverMetricLines(loopDelay: LoopDelay, budget: ByteBudget): MetricLine[] {
  return [
    ...loopDelay.lines(),
    ...metric(
      "stratagem_request_bytes",
      "gauge",
      "Bytes of bodies and tensors of requests without an answer",
      budget.heldBytes,
    ),
    ...metric("stratagem_request_bytes_limit", "gauge", "Bytes of them at most", budget.maxBytes),
    ...metric(
      "stratagem_request_bytes_refused_total",
      "counter",
      "Requests refused because there was no room for their bytes",
      budget.refusedCount,
    ),
  ];
}
