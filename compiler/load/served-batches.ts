/** Counts of a server's batches, from the metrics that it may have beside the protocol. */
import { metricValues } from "stratagem-runtime/internal/describe/metrics-lines";
import { requestsPerBatch } from "../simulate/latency-sample.ts";
import type { InferenceClient } from "./inference-client.ts";

const REQUESTS = "nv_inference_request_success";
const ROWS = "stratagem_batch_size_sum";
const BATCHES = "stratagem_batch_size_count";

/** Counts since the server started, by name of the metric and then by task. */
type ServedBatches = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Counts nothing if the server has no such metrics. */
export async function readServedBatches(
  client: InferenceClient,
  model: string,
): Promise<ServedBatches> {
  const reply = await client.send("/metrics", null).catch(() => null);
  const values = reply?.status === 200 ? metricValues(reply.body.toString()) : [];
  const counts = new Map(
    [REQUESTS, ROWS, BATCHES].map((name) => [name, new Map<string, number>()]),
  );
  for (const { name, labels, value } of values) {
    if ((labels.get("model") ?? model) !== model) continue;
    const task = labels.get("task") ?? "";
    counts.get(name)?.set(task, (counts.get(name)?.get(task) ?? 0) + value);
  }
  return counts;
}

/** Returns the mean requests of a batch between two readings, in the task where most share one. */
export function perBatchBetween(before: ServedBatches, after: ServedBatches): number {
  const between = (name: string, task: string): number =>
    (after.get(name)?.get(task) ?? 0) - (before.get(name)?.get(task) ?? 0);
  const tasks = [...(after.get(BATCHES)?.keys() ?? [])].map((task) => {
    return { queries: between(ROWS, task), batches: between(BATCHES, task) };
  });
  return requestsPerBatch(between(REQUESTS, ""), tasks);
}
