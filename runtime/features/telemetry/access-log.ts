/** Access log: one line of JSON per request. */
import { timeText } from "../../server/logs/time-text.ts";
import type { BatchRun } from "../../server/requests/request.ts";
import type { RequestRecord } from "../../server/requests/request-record.ts";

/** Digits of a bundle's digest in a line, the same number as on the live page. */
const BUNDLE_DIGITS = 12;
/** Batches of one request in a line; a request that fans out may have more. */
const MAX_RUNS = 32;

/** @param epochOffsetMs is added to the clock of the server for milliseconds since 1970. */
export function accessLine(record: RequestRecord, epochOffsetMs: number): string {
  const { id, client, protocol, method, path, status, requestBytes, responseBytes } = record;
  const fields: Record<string, unknown> = {
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
    fields["model"] = record.model;
    if (record.lagMs >= 0.001) fields["lagMs"] = rounded(record.lagMs);
    if (!Number.isNaN(record.sloMs)) fields["sloMs"] = record.sloMs;
    if (record.kind !== "") fields["class"] = record.kind;
    if (record.bundleSha256 !== "") fields["bundle"] = record.bundleSha256.slice(0, BUNDLE_DIGITS);
  }
  if (record.rows > 0) fields["rows"] = record.rows;
  if (!Number.isNaN(record.readMs)) fields["readMs"] = rounded(record.readMs - record.arrivalMs);
  if (!Number.isNaN(record.failedMs))
    fields["failedMs"] = rounded(record.failedMs - record.arrivalMs);
  if (!Number.isNaN(record.queueMs)) {
    fields["queueMs"] = rounded(record.queueMs);
    fields["computeMs"] = rounded(record.computeMs);
    fields["variant"] = record.variant;
    fields["accuracy"] = record.accuracy;
  }
  addRuns(fields, record);
  if (record.reason !== "") fields["reason"] = record.reason;
  if (record.error !== "") fields["error"] = record.error;
  fields["traceId"] = record.traceId;
  fields["spanId"] = record.spanId;
  if (record.parent !== undefined) fields["parentSpanId"] = record.parent.spanId;
  return JSON.stringify(fields);
}

/** Adds the fields of the last batch and, for several batches, a list of them. */
function addRuns(fields: Record<string, unknown>, { runs, waitsMs, arrivalMs }: RequestRecord) {
  const run = runs.at(-1);
  if (run === undefined) return;
  Object.assign(fields, runFields(run, arrivalMs));
  const isPlain = runs.length === 1 && run.task === undefined && run.places === undefined;
  if (isPlain) return;
  fields["runs"] = runs.slice(-MAX_RUNS).map((one, index, kept) => ({
    ...(one.task === undefined ? {} : { task: one.task }),
    variant: one.variantName,
    ...waitOf(waitsMs[runs.length - kept.length + index]),
    ...runFields(one, arrivalMs),
    ...(one.places === undefined ? {} : { places: one.places, doneRows: one.doneRows }),
    ...(one.isLost === undefined ? {} : { lost: true }),
  }));
}

/** Times are relative to the arrival of the request, except the time in the worker. */
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

/** Rounds to microseconds. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
