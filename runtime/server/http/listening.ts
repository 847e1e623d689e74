/** The HTTP server below the routes: its limits, its address, and which requests it admits. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Decision, OPEN_ACCESS } from "../access/access.ts";
import { isPreflight } from "../access/cors.ts";
import { needOf } from "../access/scopes.ts";
import { secureServer } from "../access/secure-server.ts";
import type { ServerLimits } from "../applications/limits.ts";
import { hasUnreadBody, mayBeOfPage, refusedHead } from "../connections/connection.ts";
import { SURPLUS_CONNECTIONS } from "../connections/connections.ts";
import type { Handshakes } from "../connections/handshakes.ts";
import {
  CLOSE,
  HttpError,
  type ParseError,
  parseRefusal,
  reasonJson,
} from "../connections/http-error.ts";
import { segmentsOf } from "../protocol/request-target.ts";
import { REQUEST_ID } from "../requests/trace-context.ts";
import type { HttpContext } from "./context.ts";
import { handle } from "./http.ts";
import { answerInfer, isShed, mayStay, routed } from "./infer.ts";
import type { Listener } from "./listener.ts";
import { beginSeen, sendError } from "./replies.ts";

/** Allowed methods, for a request without a route. */
const ALLOWED = { allow: "GET, HEAD, POST" };

/** @param handshakes where those of its connections are kept, if they are encrypted. */
export function serverOf(
  context: HttpContext,
  limits: ServerLimits,
  listener: Listener,
  handshakes: Handshakes,
): Server {
  const { connections } = context;
  const { tls } = context.state.access;
  const server = secureServer({ tls, connections, handshakes }, limits.headerTimeoutMs, {
    headersTimeout: limits.headerTimeoutMs,
    // Bodies have a time limit of their own, whose error message is more precise.
    requestTimeout: 0,
    keepAliveTimeout: limits.idleTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, limits.headerTimeoutMs),
    maxHeaderSize: limits.maxHeaderBytes,
    // These are checked here, with a reason in the answer, whatever options Node was started with.
    requireHostHeader: false,
    insecureHTTPParser: false,
  });
  const isTls = tls !== undefined;
  server.maxConnections = limits.maxConnections + SURPLUS_CONNECTIONS;
  // 0 means no limit: by default Node silently drops the header fields over one.
  server.maxHeadersCount = 0;
  // A client that ends its side is still owed its answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.of(request.socket);
    const taken = connection.take(request, response);
    connections.onAsked(connection);
    if (taken === "ignore") return;
    if (isNamed(context, request)) beginSeen(context, request, response);
    const refusal = taken === "answer" ? refusedHead(request, limits) : taken;
    if (refusal !== undefined || isFreeToInfer(context, listener, request)) {
      serve(context, request, response, refusal);
    } else enter(context, listener, request, response);
  };
  server.on("request", answer);
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    // Reading the body triggers 100-continue; a request that is rejected before gets none.
    request.once("resume", () => {
      if (!response.headersSent) response.writeContinue();
    });
    answer(request, response);
  });
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    const { expect } = request.headers;
    const message = `Expect: expected 100-continue, got ${expect}`;
    const connection = connections.of(request.socket);
    const taken = connection.take(request, response);
    if (taken === "ignore") return;
    if (isNamed(context, request)) beginSeen(context, request, response);
    serve(context, request, response, new HttpError(417, message, CLOSE));
  });
  const refuse = (socket: Socket, error: HttpError, code?: string) => {
    connections.onRefused(error);
    const isAnswered = connections.of(socket).refuse(error);
    if (isAnswered) context.counts.onRefused(socket, code, error.status);
  };
  server.on("connect", (_request: IncomingMessage, socket: Socket) => {
    refuse(socket, new HttpError(405, "expected GET, HEAD or POST, got CONNECT", ALLOWED));
  });
  server.on("clientError", (error: ParseError, socket: Socket) => {
    const isOver = !socket.writable || error.code === "ECONNRESET";
    // A connection that is not encrypted yet cannot get an answer.
    if (isOver || (isTls && !connections.has(socket))) socket.destroy();
    else refuse(socket, parseRefusal(error), error.code);
  });
  server.on("close", () => connections.close());
  return server;
}

/** Whether the request has an id or a trace that its answer repeats, or a feature records it. */
function isNamed({ state }: HttpContext, { headers }: IncomingMessage): boolean {
  if (state.features.records !== undefined) return true;
  return headers[REQUEST_ID] !== undefined || headers["traceparent"] !== undefined;
}

/** Whether it is an inference request, and needs no access check. */
function isFreeToInfer(
  { state: { access }, inferred }: HttpContext,
  { needs }: Listener,
  request: IncomingMessage,
): boolean {
  if (!access.isIdle || access.cors !== undefined || mayBeOfPage(request)) return false;
  return needs.has("infer") && inferred.has(request.url ?? "");
}

/** Answers a request. @param refusal error with which the request must be rejected, if any. */
function serve(
  context: HttpContext,
  request: IncomingMessage,
  response: ServerResponse,
  refusal?: HttpError,
): void {
  const { method: verb, url = "" } = request;
  const asked = verb === "POST" && refusal === undefined ? context.inferred.get(url) : undefined;
  if (asked === undefined) {
    context.counts.begin(request, response);
    void handle(context, request, response, refusal);
    return;
  }
  const hosted = routed(context, asked.hosted, request);
  if (isShed(context, hosted, request, response)) return;
  context.counts.begin(request, response);
  // Most paths are known as a whole.
  if (asked.dialect !== "v2") void handle(context, request, response);
  else {
    const answered = answerInfer(context, hosted, asked.modelName, request, response);
    answered.catch((error) => sendError(context, response, error));
  }
}

/** Answers or rejects a request after the access check. */
function enter(
  context: HttpContext,
  listener: Listener,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { cors } = context.state.access;
  const go = (refusal?: HttpError) => serve(context, request, response, refusal);
  // Headers are read only where a feature needs them.
  const origin = cors === undefined ? undefined : request.headers.origin;
  if (cors !== undefined && origin !== undefined) {
    cors.mark(origin, response);
    if (isPreflight(request)) {
      const answered = cors.answerPreflight(request, response);
      if (answered instanceof HttpError) go(answered);
      else context.counts.onAnsweredEarly(request, answered);
      return;
    }
  }
  const settle = (decision: Decision) => {
    if (decision instanceof HttpError) refuse(context, request, response, decision, go);
    else {
      if (decision !== OPEN_ACCESS) {
        if (decision.name !== undefined) context.clients.set(response, decision.name);
        response.once("close", decision.leave);
        // The connection may have closed while the token was checked.
        if (response.destroyed) decision.leave();
      }
      go();
    }
  };
  let decision: Decision | Promise<Decision>;
  try {
    decision = decided(context, listener, request);
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    decision = error;
  }
  if (decision instanceof Promise) void decision.then(settle);
  else settle(decision);
}

/** @throws HttpError 400 for an invalid path. */
function decided(
  { state: { access }, inferred, routes, served }: HttpContext,
  listener: Listener,
  request: IncomingMessage,
): Decision | Promise<Decision> {
  const { url = "" } = request;
  const path = inferred.has(url) ? undefined : segmentsOf(url);
  const found = path === undefined ? undefined : routes.find(path, request, served);
  const need = path === undefined ? "infer" : (found?.route.need ?? needOf(path));
  if (!listener.needs.has(need)) return new HttpError(404, `no such path: ${url}`);
  // The live page, which needs no token itself, is for who may read its numbers.
  const isPage = found !== undefined && need === "open";
  const refusal = access.refusedPage(isPage ? "metrics" : need, request);
  if (refusal !== undefined) return refusal;
  if (access.isIdle && need !== "admin") return OPEN_ACCESS;
  const { authorization } = request.headers;
  const { remoteAddress: address } = request.socket;
  return access.admit({ need, authorization, address, isOwnListener: listener.isOwn });
}

/**
 * Rejects a request, in one write if the rest of its body is short enough to keep the connection.
 */
function refuse(
  { state, counts }: HttpContext,
  request: IncomingMessage,
  response: ServerResponse,
  error: HttpError,
  go: (refusal: HttpError) => void,
): void {
  const isLong = hasUnreadBody(request) && !mayStay(request);
  if (isLong || state.isDraining || response.destroyed) {
    go(error);
    return;
  }
  const body = Buffer.from(reasonJson(error.message));
  response.writeHead(error.status, {
    ...error.headers,
    "content-type": "application/json",
    "content-length": body.length,
  });
  response.end(body);
  counts.onAnsweredEarly(request, error.status);
}
