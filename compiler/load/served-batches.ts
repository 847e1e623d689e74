/** Counts of a server's batches, from the metrics that it may have beside the protocol. */
import { metricValues } from "stratagem-runtime/internal/describe/metrics-lines";
import { requestsPerBatch } from "../simulate/latency-sample.ts";
import type { InferenceClient } from "./inference-client.ts";

const REQUESTS = "nv_inference_request_success";
const ROWS = "stratagem_batch_size_sum";
const BATCHES = "stratagem_batch_size_count";

/** Counts since the server started. */
export interface ServedBatches {
  readonly requests: number;
  /** By task. */
  readonly queries: ReadonlyMap<string, number>;
  readonly batches: ReadonlyMap<string, number>;
}

/** Counts nothing if the server has no such metrics. */
export async function readServedBatches(
  client: InferenceClient,
  model: string,
): Promise<ServedBatches> {
  const reply = await client.send("/metrics", null).catch(() => null);
  const values = reply?.status === 200 ? metricValues(reply.body.toString()) : [];
  const own = values.filter(({ labels }) => (labels.get("model") ?? model) === model);
  const sums = (wanted: string) => {
    const byTask = new Map<string, number>();
    for (const { name, labels, value } of own) {
      const task = labels.get("task") ?? "";
      if (name === wanted) byTask.set(task, (byTask.get(task) ?? 0) + value);
    }
    return byTask;
  };
  const requests = sums(REQUESTS).get("") ?? 0;
  return { requests, queries: sums(ROWS), batches: sums(BATCHES) };
}

/** Returns the mean requests of a batch between two readings, in the task where most share one. */
export function perBatchBetween(before: ServedBatches, after: ServedBatches): number {
  const tasks = [...after.batches].map(([task, batches]) => ({
    queries: (after.queries.get(task) ?? 0) - (before.queries.get(task) ?? 0),
    batches: batches - (before.batches.get(task) ?? 0),
  }));
  return requestsPerBatch(after.requests - before.requests, tasks);
}
