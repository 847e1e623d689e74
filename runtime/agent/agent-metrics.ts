/** Metrics of an agent. */
import { head, line, type MetricLine } from "../base/exposition.ts";
import { bufferedByteLines, lostWorkerLines } from "../base/metric-families.ts";
import { processMetricLines } from "../server/metrics/process-metrics.ts";
import type { AgentState } from "./agent-state.ts";

export function agentLines(state: AgentState): MetricLine[] {
  const { models, turns, values, counts, access, connections } = state;
  const workers = "stratagem_workers";
  const batches = "stratagem_agent_batches";
  const running = turns.isRunning ? 1 : 0;
  return [
    ...counts.lines(),
    head(workers, "gauge", "Processes of a model that can take a batch"),
    ...models.held.map(({ model, isReady }) =>
      line(workers, { model: model.name, state: "ready" }, +isReady),
    ),
    ...lostWorkerLines(
      models.held.map(({ model, lossCount }) => [
        { model: model.name, reason: "ended" },
        lossCount,
      ]),
    ),
    head(batches, "gauge", "Batches that run or wait"),
    line(batches, { state: "running" }, running),
    line(batches, { state: "waiting" }, turns.count - running),
    ...bufferedByteLines("kept_tensors", values.bytes),
    ...access.metricLines(),
    ...connections.metricLines(),
    ...processMetricLines(),
  ];
}
