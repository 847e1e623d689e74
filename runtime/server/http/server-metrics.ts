/** Metrics of the server itself, whatever the method. */
import type { ByteBudget } from "../bodies/byte-budget.ts";
import { metric } from "../metrics/exposition.ts";
import type { LoopDelay } from "../metrics/loop-delay.ts";

/** Lines of the exposition format, each with its end. */
export function serverMetricsText(loopDelay: LoopDelay, budget: ByteBudget): string {
  const lines = [
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
  return `${lines.join("\n")}\n`;
}
