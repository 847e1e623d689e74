/** A line of JSON for every request. */
import type { RequestRecord } from "./request-record.ts";

/** @param epochOffsetMs is added to the clock of the server for milliseconds since 1970. */
export function accessLine(record: RequestRecord, epochOffsetMs: number): string {
  const { id, client, protocol, method, path, status, requestBytes, responseBytes } = record;
  const told: Record<string, unknown> = {
    time: new Date(epochOffsetMs + record.arrivalMs).toISOString(),
    requestId: id,
    client,
    protocol,
    method,
    path,
    status,
    requestBytes,
    responseBytes,
    totalMs: rounded(record.endMs - record.arrivalMs),
  };
  if (record.model !== "") told["model"] = record.model;
  if (record.rows > 0) told["rows"] = record.rows;
  if (!Number.isNaN(record.queueMs)) {
    told["queueMs"] = rounded(record.queueMs);
    told["computeMs"] = rounded(record.computeMs);
    told["variant"] = record.variant;
    told["accuracy"] = record.accuracy;
  }
  // Of several batches, the one that came last.
  const run = record.runs.at(-1);
  if (run !== undefined) {
    told["batch"] = run.rows;
    if (run.level >= 0) told["level"] = run.level;
    told["slackMs"] = rounded(run.slackMs);
    if (run.worker >= 0) told["worker"] = run.worker;
  }
  if (record.error !== "") told["error"] = record.error;
  told["traceId"] = record.traceId;
  told["spanId"] = record.spanId;
  if (record.parent !== undefined) told["parentSpanId"] = record.parent.spanId;
  return JSON.stringify(told);
}

/** Microseconds are enough. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
