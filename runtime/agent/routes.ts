/**
 * Routes of an agent: the Open Inference Protocol v2, Triton's repository, and its own document.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { exposition } from "../base/exposition.ts";
import { RowsRefusedError } from "../exec/models/executor.ts";
import { hasUnreadBody } from "../server/connections/connection.ts";
import { CLOSE, HttpError, reasonText } from "../server/connections/http-error.ts";
import { modelStatistics } from "../server/protocol/descriptions.ts";
import { httpErrorOf } from "../server/protocol/refusal.ts";
import { segmentsOf } from "../server/protocol/request-target.ts";
import { agentLines } from "./agent-metrics.ts";
import { type AgentState, agentDocument } from "./agent-state.ts";
import { modelConfig, modelMetadata, serverMetadata } from "./descriptions.ts";
import { answerBatch } from "./infer.ts";
import { repositoryAnswer } from "./repository.ts";
import { VALUES } from "./value-source.ts";

const JSON_TYPE = "application/json";
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** A request with its path in segments. */
interface Asked {
  readonly state: AgentState;
  readonly path: readonly string[];
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Answers an admitted request; never rejects. */
export async function handle(
  state: AgentState,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const path = segmentsOf(request.url ?? "/");
    // Some clients end every path with a slash.
    if (path.at(-1) === "") path.pop();
    await route({ state, path, request, response });
  } catch (error) {
    sendError(state, response, error);
  }
}

function route(asked: Asked): Promise<void> | void {
  const { state, path, request, response } = asked;
  const [first, second, ...rest] = path;
  if (first === "metrics" && path.length === 1) {
    expectMethod(request, "GET");
    const text = Buffer.from(exposition(agentLines(state)));
    return send(state, response, 200, text, { "content-type": METRICS_TYPE });
  }
  if (first !== "v2") throw noSuchPath(request);
  if (second === "repository") return routeRepository(asked, rest);
  if (second === "models" && rest.length >= 1 && !(rest[0] === "stats" && rest.length === 1)) {
    return routeModel(asked, rest);
  }
  if (second === "stratagem" && rest[0] === "values") return sendValue(asked, rest.slice(1));
  const document = serverPage(state, path.slice(1).join("/"));
  if (document === undefined) throw noSuchPath(request);
  expectMethod(request, "GET");
  const [status, value] = document;
  sendJson(state, response, status, value);
}

/** @param page path after `/v2/`. */
function serverPage(state: AgentState, page: string): readonly [number, object] | undefined {
  if (page === "") return [200, serverMetadata(state)];
  if (page === "health/live") return [200, { live: true }];
  if (page === "health/ready") {
    const ready = state.isStarted && !state.isStopping;
    return [ready ? 200 : 503, { ready }];
  }
  if (page === "stratagem/worker") return [200, agentDocument(state)];
  if (page === "models") {
    return [200, { models: state.models.held.map(({ model }) => model.name) }];
  }
  if (page === "models/stats") {
    const held = state.models.held.map(({ model: { name } }) => name);
    const all = held.map((name) => ({ name, metrics: state.counts.of(name) }));
    return [200, modelStatistics(all, state.epochOffsetMs())];
  }
  return undefined;
}

/** @param path segments after that of values: the key. */
function sendValue({ state, request, response }: Asked, path: readonly string[]): void {
  expectMethod(request, "GET");
  const bytes = path.length === 1 ? state.values.get(path[0] ?? "") : undefined;
  if (bytes === undefined) throw new HttpError(404, `${VALUES}: expected the key of a kept value`);
  send(state, response, 200, bytes, { "content-type": "application/octet-stream" });
}

async function routeRepository(
  { state, request, response }: Asked,
  path: readonly string[],
): Promise<void> {
  expectMethod(request, "POST");
  sendJson(state, response, 200, await repositoryAnswer(state, path, request));
}

/** @param path segments after `/v2/models`: the name, an optional version, and the resource. */
async function routeModel(
  { state, request, response }: Asked,
  [name = "", ...path]: readonly string[],
): Promise<void> {
  const hasVersion = path[0] === "versions" && path.length >= 2;
  if (hasVersion && path[1] !== "1") {
    const message = `Request for unknown model: '${name}' version ${path[1]} is not found`;
    throw new HttpError(404, message);
  }
  const behind = (hasVersion ? path.slice(2) : path).join("/");
  if (behind === "infer") {
    expectMethod(request, "POST");
    await answerBatch(state, name, request, response);
    return;
  }
  expectMethod(request, "GET");
  const model = state.models.described(name);
  if (behind === "ready") {
    const ready = state.models.held.some((held) => held.model.name === name && held.isReady);
    sendJson(state, response, ready ? 200 : 503, { name, ready });
  } else if (behind === "") sendJson(state, response, 200, modelMetadata(model));
  else if (behind === "config") sendJson(state, response, 200, modelConfig(model));
  else if (behind === "stats") {
    const own = [{ name, metrics: state.counts.of(name) }];
    sendJson(state, response, 200, modelStatistics(own, state.epochOffsetMs()));
  } else throw noSuchPath(request);
}

/** Answers with an error. */
export function sendError(state: AgentState, response: ServerResponse, reason: unknown): void {
  const isRows = reason instanceof RowsRefusedError;
  const error = isRows ? new HttpError(400, reason.message) : httpErrorOf(reason);
  if (error.status === 500) state.onNotice(error.message, "error");
  if (response.headersSent || response.destroyed) {
    if (!response.writableEnded) response.destroy();
    return;
  }
  const body = { error: reasonText(error.message), ...(isRows ? { rows: reason.rows } : {}) };
  sendJson(state, response, error.status, body, error.headers);
}

function sendJson(
  state: AgentState,
  response: ServerResponse,
  status: number,
  value: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = Buffer.from(JSON.stringify(value));
  send(state, response, status, body, { ...headers, "content-type": JSON_TYPE });
}

function send(
  { connections, bodyLimit, isStopping }: AgentState,
  response: ServerResponse,
  status: number,
  body: Uint8Array,
  headers: Readonly<Record<string, string>>,
): void {
  const { req: request } = response;
  // Reads and discards the rest of a rejected batch, so that its connection stays usable.
  const isBounded = Number(request.headers["content-length"]) <= bodyLimit.bytes;
  const isCut = hasUnreadBody(request) && !(isBounded && request.headers.expect === undefined);
  const close = isCut || isStopping ? CLOSE : {};
  response.writeHead(status, { ...headers, ...close, "content-length": body.length });
  connections.outbox.send(response, [body]);
  if (hasUnreadBody(request)) request.resume();
}

/** @throws HttpError 405 */
function expectMethod({ method: verb }: IncomingMessage, allowed: "GET" | "POST"): void {
  if (verb === allowed || (allowed === "GET" && verb === "HEAD")) return;
  throw new HttpError(405, `expected ${allowed}, got ${verb}`, { allow: allowed });
}

function noSuchPath({ url }: IncomingMessage): HttpError {
  return new HttpError(404, `no such path: ${url}`);
}
