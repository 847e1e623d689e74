/**
 * Encodes a request as spans: the request, its time in the queue, its batches, and their time in
 * workers.
 */
import { STATUS_CODES } from "node:http";
import type { BatchRun } from "../../../server/requests/request.ts";
import type { RequestRecord } from "../../../server/requests/request-record.ts";
import { randomHex } from "../../../server/requests/trace-context.ts";
import { type Attributes, attributesOf, unixNano } from "./otlp-values.ts";

/** Span kinds and status code of opentelemetry-proto. */
const INTERNAL = 1;
const SERVER = 2;
const ERROR = 2;

/** Batches of one request that get a span; a pipeline may have more. */
const MAX_RUNS = 32;

interface SpanTimes {
  readonly startMs: number;
  readonly endMs: number;
}

/** @param epochOffsetMs is added to the clock of the server for milliseconds since 1970. */
export function spansOf(record: RequestRecord, epochOffsetMs: number): object[] {
  const { traceId, spanId, parent, arrivalMs, queueMs } = record;
  const span = (
    name: string,
    parentSpanId: string,
    { startMs, endMs }: SpanTimes,
    attributes: Attributes,
    ownId = randomHex(8),
  ) => ({
    traceId,
    spanId: ownId,
    parentSpanId,
    name,
    kind: INTERNAL,
    startTimeUnixNano: unixNano(epochOffsetMs + startMs),
    endTimeUnixNano: unixNano(epochOffsetMs + Math.max(startMs, endMs)),
    attributes: attributesOf(attributes),
  });
  const root = {
    ...span(
      nameOf(record),
      parent?.spanId ?? "",
      { startMs: arrivalMs, endMs: record.endMs },
      requestAttributes(record),
      spanId,
    ),
    kind: SERVER,
    ...(parent === undefined || parent.state === "" ? {} : { traceState: parent.state }),
    ...statusOf(record),
  };
  if (Number.isNaN(queueMs)) return [root];
  const runs = record.runs.slice(0, MAX_RUNS);
  const endMs = arrivalMs + queueMs;
  return [
    root,
    span("queue", spanId, { startMs: arrivalMs, endMs }, { "stratagem.rows": record.rows }),
    ...runs.flatMap((run) => {
      const batchId = randomHex(8);
      const batch = span("batch", spanId, run, batchAttributes(run), batchId);
      const worker = span("worker", batchId, workerTimes(run), {
        "stratagem.worker": run.worker < 0 ? undefined : run.worker,
        "stratagem.variant": run.variantName,
      });
      return [batch, worker];
    }),
  ];
}

/**
 * Names a span by the semantic conventions: method and route for HTTP, the full method for gRPC.
 */
function nameOf({ protocol, method, path, model }: RequestRecord): string {
  if (protocol === "grpc") return method;
  return `${method} ${routeOf(path, model)}`;
}

function routeOf(path: string, model: string): string {
  if (model === "") return path.startsWith("/v2/models/") ? "/v2/models/{model}" : path;
  return path.replace(/^\/v(\d)\/models\/[^/:]+/, "/v$1/models/{model}");
}

function requestAttributes(record: RequestRecord): Attributes {
  const { protocol, client, model, error, status } = record;
  const port = client.lastIndexOf(":");
  const common = {
    "client.address": client.slice(0, port),
    "client.port": Number(client.slice(port + 1)),
    "stratagem.request.id": record.id,
    "stratagem.model": model === "" ? undefined : model,
    "stratagem.rows": model === "" ? undefined : record.rows,
    "stratagem.variant": record.variant === "" ? undefined : record.variant,
    "stratagem.accuracy": record.accuracy,
    "error.type": failed(record) ? errorType(record) : undefined,
    "stratagem.error": error === "" ? undefined : error,
  };
  if (protocol === "grpc") {
    const [, service = "", method = ""] = /^\/?(.*)\/([^/]*)$/.exec(record.method) ?? [];
    return {
      "rpc.system": "grpc",
      "rpc.service": service,
      "rpc.method": method,
      "rpc.grpc.status_code": status ?? undefined,
      ...common,
    };
  }
  return {
    "http.request.method": record.method,
    "http.route": routeOf(record.path, model),
    "url.path": record.path,
    "url.scheme": "http",
    "http.response.status_code": status ?? undefined,
    "http.request.body.size": record.requestBytes,
    "http.response.body.size": record.responseBytes,
    "user_agent.original": record.userAgent,
    ...common,
  };
}

function batchAttributes(run: BatchRun): Attributes {
  return {
    "stratagem.task": run.task,
    "stratagem.variant": run.variantName,
    "stratagem.level": run.level < 0 ? undefined : run.level,
    "stratagem.batch.size": run.rows,
    "stratagem.slack": run.slackMs / 1000,
    "stratagem.pace": run.pace,
  };
}

/**
 * Span of the worker's own time. Its duration is known and its start is not: it ends with the
 * batch.
 */
function workerTimes({ startMs, endMs, wallMs }: BatchRun): SpanTimes {
  // A batch whose worker was lost has no time in the worker.
  if (Number.isNaN(wallMs)) return { startMs, endMs };
  return { startMs: Math.max(startMs, endMs - wallMs), endMs };
}

/** Codes of gRPC that are a server's fault: UNKNOWN, DEADLINE_EXCEEDED, UNIMPLEMENTED and so on. */
const GRPC_FAULTS: readonly number[] = [2, 4, 12, 13, 14, 15];

/** Whether the server failed, or the client disconnected before the answer. */
function failed({ protocol, status }: RequestRecord): boolean {
  if (status === null) return true;
  return protocol === "grpc" ? GRPC_FAULTS.includes(status) : status >= 500;
}

function errorType({ status }: RequestRecord): string {
  return status === null ? "canceled" : String(status);
}

function statusOf(record: RequestRecord): object {
  if (!failed(record)) return {};
  const { error, status, protocol } = record;
  const statusText = protocol === "http" ? STATUS_CODES[status ?? 0] : undefined;
  const defaultMessage = status === null ? "the client disconnected" : (statusText ?? "");
  return { status: { code: ERROR, message: error === "" ? defaultMessage : error } };
}
