/** A line of JSON for every request. */

import { timeText } from "../../server/logs/time-text.ts";
import type { BatchRun } from "../../server/requests/batch-run.ts";
import type { RequestRecord } from "../../server/requests/request-record.ts";

/** Digits of a bundle's digest that a line has, as the live page shows them. */
const BUNDLE_DIGITS = 12;
/** Batches of a request that are told; one that fans out may have more. */
const MAX_RUNS = 32;

/** @param epochOffsetMs is added to the clock of the server for milliseconds since 1970. */
export function accessLine(record: RequestRecord, epochOffsetMs: number): string {
  const { id, client, protocol, method, path, status, requestBytes, responseBytes } = record;
  const told: Record<string, unknown> = {
    time: timeText(epochOffsetMs + record.arrivalMs),
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
  if (record.model !== "") {
    told["model"] = record.model;
    if (record.lagMs >= 0.001) told["lagMs"] = rounded(record.lagMs);
    if (!Number.isNaN(record.sloMs)) told["sloMs"] = record.sloMs;
    if (record.kind !== "") told["class"] = record.kind;
    if (record.bundleSha256 !== "") told["bundle"] = record.bundleSha256.slice(0, BUNDLE_DIGITS);
  }
  if (record.rows > 0) told["rows"] = record.rows;
  if (!Number.isNaN(record.readMs)) told["readMs"] = rounded(record.readMs - record.arrivalMs);
  if (!Number.isNaN(record.failedMs))
    told["failedMs"] = rounded(record.failedMs - record.arrivalMs);
  if (!Number.isNaN(record.queueMs)) {
    told["queueMs"] = rounded(record.queueMs);
    told["computeMs"] = rounded(record.computeMs);
    told["variant"] = record.variant;
    told["accuracy"] = record.accuracy;
  }
  tellRuns(told, record);
  if (record.reason !== "") told["reason"] = record.reason;
  if (record.error !== "") told["error"] = record.error;
  told["traceId"] = record.traceId;
  told["spanId"] = record.spanId;
  if (record.parent !== undefined) told["parentSpanId"] = record.parent.spanId;
  return JSON.stringify(told);
}

/** Of several batches the one that came last, and then all of them. */
function tellRuns(told: Record<string, unknown>, { runs, waitsMs, arrivalMs }: RequestRecord) {
  const run = runs.at(-1);
  if (run === undefined) return;
  Object.assign(told, runFields(run, arrivalMs));
  const isPlain = runs.length === 1 && run.task === undefined && run.places === undefined;
  if (isPlain) return;
  told["runs"] = runs.slice(-MAX_RUNS).map((one, index, kept) => ({
    ...(one.task === undefined ? {} : { task: one.task }),
    variant: one.variantName,
    ...waitOf(waitsMs[runs.length - kept.length + index]),
    ...runFields(one, arrivalMs),
    ...(one.places === undefined ? {} : { places: one.places, doneRows: one.doneRows }),
    ...(one.isLost === undefined ? {} : { lost: true }),
  }));
}

/** Times are since the request's own, but that in the worker. */
function runFields(run: BatchRun, arrivalMs: number): Record<string, number> {
  const { level, rows, queued, slackMs, pace, worker, startMs, handedMs, endMs, wallMs } = run;
  return {
    batch: rows,
    ...(level < 0 ? {} : { level }),
    slackMs: rounded(slackMs),
    ...(pace === undefined ? {} : { pace: rounded(pace) }),
    ...(worker < 0 ? {} : { worker }),
    ...(queued === 0 ? {} : { queued }),
    decidedMs: rounded(startMs - arrivalMs),
    handedMs: rounded(handedMs - arrivalMs),
    ...(Number.isNaN(endMs) ? {} : { doneMs: rounded(endMs - arrivalMs) }),
    ...(Number.isNaN(wallMs) ? {} : { workerMs: rounded(wallMs) }),
  };
}

function waitOf(waitMs: number | undefined): { readonly queueMs?: number } {
  return waitMs === undefined || Number.isNaN(waitMs) ? {} : { queueMs: rounded(waitMs) };
}

/** Microseconds are enough. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
