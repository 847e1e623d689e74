/** Routes of the server: the Open Inference Protocol v2, Triton's extensions to it, and metrics. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { exposition } from "../../base/exposition.ts";
import { hostedModel } from "../applications/hosted-model.ts";
import type { BodyLimit } from "../bodies/body-memory.ts";
import { HttpError, RETRY_LATER } from "../connections/http-error.ts";
import { absenceOf } from "../protocol/absent.ts";
import {
  modelConfig,
  modelMetadata,
  modelStatistics,
  serverMetadata,
} from "../protocol/descriptions.ts";
import { segmentsOf } from "../protocol/request-target.ts";
import { adminAnswer } from "./admin.ts";
import type { HttpContext } from "./context.ts";
import { answerInfer, routed } from "./infer.ts";
import { routeV1 } from "./kserve-v1.ts";
import { expectMethod, sendBody, sendError, sendJson } from "./replies.ts";
import { routeRepository } from "./repository.ts";
import type { FoundRoute } from "./route.ts";
import { smallJson } from "./small-json.ts";

/**
 * Answers a request by its route; never rejects.
 * @param refusal error with which the request must be rejected, if any.
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
    sendError(context, response, error);
  }
}

function route(
  context: HttpContext,
  request: IncomingMessage,
  response: ServerResponse,
): void | Promise<void> {
  const path = segmentsOf(request.url ?? "/");
  if (path.length === 0) throw new HttpError(404, `expected a path, got ${request.url}`);
  // Some clients end every path with a slash.
  if (path.at(-1) === "") path.pop();
  const found = context.routes.find(path, request, context.served);
  if (found !== undefined) return answerRoute(context, found, request, response);
  const [first, ...rest] = path;
  if (first === "v2") return routeV2(context, rest, request, response);
  if (first === "v1") return routeV1(context, rest, request, response);
  if (first === "admin") return routeAdmin(context, rest, request, response);
  if (path.length > 1 || (first !== undefined && first !== "metrics")) throw noSuchPath(request);
  expectMethod(request, "GET");
  if (first === "metrics") sendMetrics(context, response);
  // KServe's V1 protocol defines this answer.
  else sendJson(context, response, 200, { status: "alive" }, { vary: "accept" });
}

/** Answers what a feature has a route for. */
async function answerRoute(
  context: HttpContext,
  { route, model, version }: FoundRoute,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { state, clients } = context;
  const { method: verb } = request;
  const hosted = model === "" ? undefined : hostedModel(state.models, model, version);
  expectMethod(request, route.methods);
  const client = clients.get(response) ?? "";
  const json = (limit?: BodyLimit) => smallJson(context, request, limit);
  const reply = await route.answer({ state, isPosted: verb === "POST", hosted, client, json });
  if ("document" in reply) sendJson(context, response, reply.status, reply.document);
  else sendBody(context, response, reply.status, reply.body, reply.headers);
}

/** @param path behind `/admin`. */
async function routeAdmin(
  context: HttpContext,
  path: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const method = (allowed: "GET" | "POST" | "GET or POST") => expectMethod(request, allowed);
  const [status, document] = await adminAnswer(context, path, request, method);
  sendJson(context, response, status, document);
}

/** @param path behind `/v2`. */
function routeV2(
  context: HttpContext,
  path: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
): void | Promise<void> {
  const [first, second] = path;
  const { state } = context;
  if (first === "repository") return routeRepository(context, path.slice(1), request, response);
  const isOfModel = first === "models" && path.length >= 2;
  if (isOfModel && !(second === "stats" && path.length === 2)) {
    return routeModel(context, second ?? "", path.slice(2), request, response);
  }
  const allStatistics = () => {
    const all = state.models.map(({ model: { signature, metrics } }) => {
      return { name: signature.names[0] ?? "", metrics };
    });
    return modelStatistics(all, state.epochOffsetMs());
  };
  const pages: Readonly<Record<string, () => void>> = {
    "": () => sendJson(context, response, 200, serverMetadata(state, state.extensions)),
    "/health/live": () => sendJson(context, response, 200, { live: true }),
    "/health/ready": () => {
      const ready = state.isFit;
      const { frontEnd } = state;
      const body = { ready, ...(frontEnd === undefined ? {} : { frontEnd }) };
      sendJson(context, response, ready ? 200 : 503, body, ready ? {} : RETRY_LATER);
    },
    "/models": () => sendJson(context, response, 200, { models: state.modelNames }),
    "/models/stats": () => sendJson(context, response, 200, allStatistics()),
  };
  const page = ["", ...path].join("/");
  const send = Object.hasOwn(pages, page) ? pages[page] : undefined;
  if (send === undefined) throw notServed(request, path);
  expectMethod(request, "GET");
  send();
}

function routeModel(
  context: HttpContext,
  name: string,
  rest: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
): void | Promise<void> {
  const { state } = context;
  const hasVersion = rest[0] === "versions" && rest.length >= 2;
  const hosted = hostedModel(state.models, name, hasVersion ? rest[1] : "");
  const { signature, metrics, classes, sequences } = hosted.model;
  if (rest.at(hasVersion ? 2 : 0) === "") throw noSuchPath(request);
  const isReady = state.isApplicationReady(hosted.application);
  const behind = hasVersion ? rest.slice(2) : rest;
  const [action, ...beyond] = behind;
  if (beyond.length > 0) throw notServed(request, behind);
  if (action === "infer") {
    expectMethod(request, "POST");
    return answerInfer(context, routed(context, hosted, request), name, request, response);
  }
  const pages: Readonly<Record<string, () => [number, object]>> = {
    "": () => [200, modelMetadata(name, signature)],
    ready: () => [isReady ? 200 : 503, { name, ready: isReady }],
    config: () => [200, modelConfig(name, signature, hosted.maxRows, classes?.stated, sequences)],
    stats: () => [200, modelStatistics([{ name, metrics }], state.epochOffsetMs())],
  };
  const page = Object.hasOwn(pages, action ?? "") ? pages[action ?? ""] : undefined;
  if (page === undefined) throw noSuchPath(request);
  expectMethod(request, "GET");
  sendJson(context, response, ...page());
}

/** @param path as `absenceOf` has it. */
function notServed(request: IncomingMessage, path: readonly string[]): HttpError {
  const absence = absenceOf(path);
  return absence === undefined ? noSuchPath(request) : new HttpError(501, absence);
}

function noSuchPath({ url }: IncomingMessage): HttpError {
  return new HttpError(404, `no such path: ${url}`);
}

function sendMetrics(context: HttpContext, response: ServerResponse): void {
  const body = Buffer.from(exposition(context.metricLines()));
  sendBody(context, response, 200, body, {
    "content-type": "text/plain; version=0.0.4; charset=utf-8",
  });
}
