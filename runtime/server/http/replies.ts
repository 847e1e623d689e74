/** What routes answer with: JSON, text, or the reason why not. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { CLOSE, HttpError, reasonJson } from "../connections/http-error.ts";
import { hasUnreadBody } from "../connections/request-head.ts";
import { httpErrorOf, tellFault } from "../protocol/refusal.ts";
import type { HttpContext } from "./context.ts";
import { repeatedId } from "./seen.ts";

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
  // A body that was not read would be taken for the next request.
  const close = hasUnreadBody(response.req) ? CLOSE : {};
  response.writeHead(status, { ...headers, ...close, "content-length": body.length });
  connections.outbox.send(response, [body]);
}

/** Answers with the reason, and tells operators of what is a fault of the server. */
export function sendError(context: HttpContext, response: ServerResponse, reason: unknown): void {
  const error = httpErrorOf(reason);
  tellFault(context.house.onNotice, repeatedId(response), reason, error);
  const record = context.records.get(response);
  if (record !== undefined) record.error = error.message;
  if (response.headersSent || response.destroyed) {
    // An answer that was given in its place, such as to a broken body, goes its way.
    if (!response.writableEnded) response.destroy();
    return;
  }
  // While draining, clients had better go elsewhere.
  const close = context.house.isDraining ? CLOSE : {};
  const body = Buffer.from(reasonJson(error.message, repeatedId(response)));
  const headers = { ...error.headers, ...close, "content-type": "application/json" };
  sendBody(context, response, error.status, body, headers);
}
