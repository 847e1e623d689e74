/** Routes of the server: the Open Inference Protocol v2, Triton's extensions to it, and metrics. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { hostedModel } from "../applications/hosted-model.ts";
import { repositoryIndex } from "../applications/repository-index.ts";
import { readBody } from "../bodies/body.ts";
import { INDEX_LIMIT } from "../bodies/body-limits.ts";
import { CLOSE, HttpError, RETRY_LATER, reasonJson } from "../connections/http-error.ts";
import { hasUnreadBody } from "../connections/request-head.ts";
import {
  modelConfig,
  modelMetadata,
  modelStatistics,
  SERVER_METADATA,
} from "../protocol/descriptions.ts";
import { httpErrorOf } from "../protocol/refusal.ts";
import { segmentsOf } from "../protocol/request-target.ts";
import { BadRequest } from "../tensors/bad-request.ts";
import { parseJson } from "../tensors/json-text.ts";
import type { HttpContext } from "./context.ts";
import { answerInfer } from "./infer.ts";

/**
 * Answers a request, whatever happens; never rejects.
 * @param refusal why it is refused as it stands, if it is.
 */
export async function handle(
  context: HttpContext,
  request: IncomingMessage,
  response: ServerResponse,
  refusal?: HttpError,
): Promise<void> {
  try {
    if (refusal !== undefined) throw refusal;
    await route(context, request, response);
  } catch (error) {
    sendError(context, response, httpErrorOf(error));
  }
}

function route(
  context: HttpContext,
  request: IncomingMessage,
  response: ServerResponse,
): void | Promise<void> {
  const path = segmentsOf(request.url ?? "/");
  if (path.length === 0) throw new HttpError(404, `expected a path, got ${request.url}`);
  const [first, second, third] = path;
  const get = () => expectMethod(request, "GET");
  if (path.length === 1 && first === "metrics") {
    get();
    sendMetrics(context, response);
  } else if (first !== "v2") throw new HttpError(404, `no such path: ${request.url}`);
  else if (path.length === 1) {
    get();
    sendJson(context, response, 200, { ...SERVER_METADATA, version: context.house.version });
  } else if (second === "health" && path.length === 3) {
    get();
    sendHealth(context, third ?? "", response);
  } else if (second === "repository" && third === "index" && path.length === 3) {
    expectMethod(request, "POST");
    return sendIndex(context, request, response);
  } else if (second === "models" && third === "stats" && path.length === 3) {
    get();
    const { house } = context;
    const all = house.models.map(({ model: { signature, metrics } }) => {
      return { name: signature.names[0] ?? "", metrics };
    });
    sendJson(context, response, 200, modelStatistics(all, house.epochOffsetMs));
  } else if (second === "models" && path.length >= 3) {
    return routeModel(context, third ?? "", path.slice(3), request, response);
  } else throw new HttpError(404, `no such path: ${request.url}`);
}

function routeModel(
  context: HttpContext,
  name: string,
  rest: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
): void | Promise<void> {
  const { house } = context;
  const hasVersion = rest[0] === "versions" && rest.length >= 2;
  const hosted = hostedModel(house.models, name, hasVersion ? rest[1] : "");
  const { signature, metrics } = hosted.model;
  const isReady = house.isApplicationReady(hosted.application);
  const [action, ...beyond] = hasVersion ? rest.slice(2) : rest;
  if (beyond.length > 0) throw new HttpError(404, `no such path: ${request.url}`);
  if (action === "infer") {
    expectMethod(request, "POST");
    return answerInfer(context, hosted, name, request, response);
  }
  const pages: Readonly<Record<string, () => [number, object]>> = {
    "": () => [200, modelMetadata(name, signature)],
    ready: () => [isReady ? 200 : 503, { name, ready: isReady }],
    config: () => [200, modelConfig(name, signature, hosted.maxRows, hosted.model.classes?.stated)],
    stats: () => [200, modelStatistics([{ name, metrics }], house.epochOffsetMs)],
  };
  const page = Object.hasOwn(pages, action ?? "") ? pages[action ?? ""] : undefined;
  if (page === undefined) throw new HttpError(404, `no such path: ${request.url}`);
  expectMethod(request, "GET");
  sendJson(context, response, ...page());
}

function sendHealth(context: HttpContext, kind: string, response: ServerResponse): void {
  if (kind === "live") sendJson(context, response, 200, { live: true });
  else if (kind === "ready") {
    const ready = context.house.isReady;
    sendJson(context, response, ready ? 200 : 503, { ready }, ready ? {} : RETRY_LATER);
  } else throw new HttpError(404, `no such path: /v2/health/${kind}`);
}

async function sendIndex(
  context: HttpContext,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pace, house } = context;
  const hold = house.budget.hold();
  const body = await readBody(request, { limit: INDEX_LIMIT, pace, hold }).finally(() =>
    hold.release(),
  );
  const asked = body.length === 0 ? {} : jsonObjectOf(body);
  const entries = repositoryIndex(house, asked["ready"] === true);
  sendJson(context, response, 200, entries);
}

function jsonObjectOf(body: Uint8Array): Readonly<Record<string, unknown>> {
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString();
  try {
    const value = parseJson(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as Readonly<Record<string, unknown>>;
    }
  } catch {
    // Told below, as any other text that is not an object.
  }
  throw new BadRequest("request", "expected a JSON object", text);
}

function sendMetrics(context: HttpContext, response: ServerResponse): void {
  const body = Buffer.from(context.metricsText());
  sendBody(context, response, 200, body, {
    "content-type": "text/plain; version=0.0.4; charset=utf-8",
  });
}

function expectMethod({ method }: IncomingMessage, allowed: "GET" | "POST"): void {
  if (method === allowed || (allowed === "GET" && method === "HEAD")) return;
  const allow = allowed === "GET" ? "GET, HEAD" : allowed;
  throw new HttpError(405, `expected ${allowed}, got ${method}`, { allow });
}

function sendJson(
  context: HttpContext,
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = Buffer.from(JSON.stringify(value));
  sendBody(context, response, status, body, { ...headers, "content-type": "application/json" });
}

function sendBody(
  { connections }: HttpContext,
  response: ServerResponse,
  status: number,
  body: Uint8Array,
  headers: Readonly<Record<string, string>>,
): void {
  // A body that was not read would be taken for the next request.
  const close = hasUnreadBody(response.req) ? CLOSE : {};
  response.writeHead(status, { ...headers, ...close, "content-length": body.length });
  connections.outbox.send(response, [body]);
}

function sendError(context: HttpContext, response: ServerResponse, error: HttpError): void {
  if (response.headersSent || response.destroyed) {
    // An answer that was given in its place, such as to a broken body, goes its way.
    if (!response.writableEnded) response.destroy();
    return;
  }
  // While draining, clients had better go elsewhere.
  const close = context.house.isDraining ? CLOSE : {};
  const body = Buffer.from(reasonJson(error.message));
  const headers = { ...error.headers, ...close, "content-type": "application/json" };
  sendBody(context, response, error.status, body, headers);
}
