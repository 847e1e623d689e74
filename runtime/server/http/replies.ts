/** Response writers: JSON, text and errors, with the request's id and trace. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { hasUnreadBody } from "../connections/connection.ts";
import { CLOSE, HttpError, reasonJson } from "../connections/http-error.ts";
import { httpErrorOf, reportFault } from "../protocol/refusal.ts";
import {
  REQUEST_ID,
  requestIdOf,
  type TraceParent,
  traceParentOf,
  traceParentText,
} from "../requests/trace-context.ts";
import type { HttpContext } from "./context.ts";
import { repeatedId } from "./infer.ts";

const METHODS = {
  GET: ["GET", "HEAD"],
  POST: ["POST"],
  "GET or POST": ["GET", "HEAD", "POST"],
};

/** @throws HttpError 405 */
export function expectMethod({ method }: IncomingMessage, allowed: keyof typeof METHODS): void {
  const methods: readonly (string | undefined)[] = METHODS[allowed];
  if (methods.includes(method)) return;
  const allow = methods.join(", ");
  throw new HttpError(405, `expected ${allowed}, got ${method}`, { allow });
}

export function sendJson(
  context: HttpContext,
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = Buffer.from(JSON.stringify(value));
  sendBody(context, response, status, body, { ...headers, "content-type": "application/json" });
}

export function sendBody(
  { connections, records }: HttpContext,
  response: ServerResponse,
  status: number,
  body: Uint8Array,
  headers: Readonly<Record<string, string>>,
): void {
  const record = records.get(response);
  if (record !== undefined) record.responseBytes = body.length;
  // The rest of an unread body would be parsed as the next request.
  const close = hasUnreadBody(response.req) ? CLOSE : {};
  response.writeHead(status, { ...headers, ...close, "content-length": body.length });
  connections.outbox.send(response, [body]);
}

/** Sends the error, and reports faults of the server to operators. */
export function sendError(context: HttpContext, response: ServerResponse, reason: unknown): void {
  const error = httpErrorOf(reason);
  reportFault(context.state.onNotice, repeatedId(response), reason, error);
  const record = context.records.get(response);
  if (record !== undefined) record.error = error.message;
  if (response.headersSent || response.destroyed) {
    // Another answer that was already sent, such as to a broken body, is left alone.
    if (!response.writableEnded) response.destroy();
    return;
  }
  // While draining, clients should connect elsewhere.
  const close = context.state.isDraining ? CLOSE : {};
  const body = Buffer.from(reasonJson(error.message, repeatedId(response)));
  const headers = { ...error.headers, ...close, "content-type": "application/json" };
  sendBody(context, response, error.status, body, headers);
}

/** Maximum length of a path in records. */
const LONGEST_PATH = 1000;

/** Called for every new request, before any check. */
export function beginSeen(
  { state, records }: Pick<HttpContext, "state" | "records">,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { headers } = request;
  const id = requestIdOf(headers[REQUEST_ID]);
  const parent = parentOf(request);
  const { records: noted } = state.features;
  if (noted === undefined) {
    if (id !== undefined) response.setHeader(REQUEST_ID, id);
    if (parent !== undefined) {
      echo(response, traceParentText(parent.traceId, parent.spanId, parent.isSampled), parent);
    }
    return;
  }
  const { remoteAddress, remotePort } = request.socket;
  const length = headers["content-length"];
  const record = noted.begin({
    protocol: "http",
    method: request.method ?? "",
    path: (request.url ?? "").split("?", 1)[0]?.slice(0, LONGEST_PATH) ?? "",
    client: `${remoteAddress}:${remotePort}`,
    userAgent: headers["user-agent"],
    requestBytes: length === undefined ? undefined : Number(length),
    id,
    parent,
  });
  records.set(response, record);
  response.setHeader(REQUEST_ID, record.id);
  echo(response, traceParentText(record.traceId, record.spanId, record.isSampled), parent);
  response.once("close", () => {
    const isWritten = response.writableFinished || response.headersSent;
    if (isWritten) noted.end(record, response.statusCode);
    // The code that handles the request learns of the lost client at the same time, and reports it.
    else setImmediate(() => noted.end(record, null));
  });
}

function parentOf({ headers }: IncomingMessage): TraceParent | undefined {
  const { traceparent, tracestate } = headers;
  if (typeof traceparent !== "string") return undefined;
  const state = Array.isArray(tracestate) ? tracestate.join(",") : tracestate;
  return traceParentOf(traceparent, state);
}

function echo(response: ServerResponse, text: string, parent: TraceParent | undefined): void {
  response.setHeader("traceparent", text);
  if (parent !== undefined && parent.state !== "") response.setHeader("tracestate", parent.state);
}
