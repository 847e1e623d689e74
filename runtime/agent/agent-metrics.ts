/** Metrics of an agent at `/metrics`. */
import { head, line, type MetricLine, metric } from "../base/exposition.ts";
import { processMetricLines } from "../server/metrics/process-metrics.ts";
import type { AgentState } from "./agent-state.ts";

export function agentLines(state: AgentState): MetricLine[] {
  const { models, turns, fence, values, counts, access, connections } = state;
  const ready = "stratagem_agent_model_ready";
  const lost = "stratagem_agent_model_lost_total";
  const running = turns.isRunning ? 1 : 0;
  return [
    ...counts.lines(),
    head(ready, "gauge", "Whether the process of a model can take a batch"),
    ...models.held.map(({ model, isReady }) => line(ready, { model: model.name }, +isReady)),
    head(lost, "counter", "Processes of a model that ended by themselves"),
    ...models.held.map(({ model, lossCount }) => line(lost, { model: model.name }, lossCount)),
    ...metric("stratagem_agent_running", "gauge", "Batches being computed", running),
    ...metric("stratagem_agent_batches", "gauge", "Batches being computed or waiting", turns.count),
    ...metric("stratagem_agent_epoch", "gauge", "Highest epoch of any lease", fence.epoch),
    ...metric(
      "stratagem_agent_kept_bytes",
      "gauge",
      "Bytes of tensors kept for other workers",
      values.bytes,
    ),
    ...access.metricLines(),
    ...connections.metricLines(),
    ...processMetricLines(),
  ];
}
