/**
 * The HTTP server below the routes: its limits, its address, and what it answers where there is no
 * request.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { RuntimeError } from "../../base/errors.ts";
import { secureServer } from "../access/secure-server.ts";
import type { ServerLimits } from "../applications/limits.ts";
import { SURPLUS_CONNECTIONS } from "../connections/connections.ts";
import type { Handshakes } from "../connections/handshakes.ts";
import { CLOSE, HttpError } from "../connections/http-error.ts";
import { type ParseError, parseRefusal } from "../connections/parse-refusal.ts";
import { refusedHead } from "../connections/request-head.ts";
import type { HttpContext } from "./context.ts";
import type { Door } from "./doors.ts";
import { enter } from "./entrance.ts";
import { handle } from "./http.ts";
import { turnedAway } from "./infer.ts";
import { beginSeen } from "./seen.ts";

/**
 * Connections that wait to be accepted; the system caps it. Beyond it they are lost and tried again
 * a second later, so a burst needs room.
 */
const BACKLOG = 4096;

/** Methods of the routes, for a request that names none of them. */
const ALLOWED = { allow: "GET, HEAD, POST" };

/** @param handshakes where those of its connections are kept, if they are encrypted. */
export function serverOf(
  context: HttpContext,
  limits: ServerLimits,
  door: Door,
  handshakes: Handshakes,
): Server {
  const { connections } = context;
  const { tls } = context.house.access;
  const server = secureServer({ tls, connections, handshakes }, limits.headerTimeoutMs, {
    headersTimeout: limits.headerTimeoutMs,
    // Bodies have a limit of their own, whose answer says what was missing.
    requestTimeout: 0,
    keepAliveTimeout: limits.idleTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, limits.headerTimeoutMs),
    maxHeaderSize: limits.maxHeaderBytes,
    // What follows is refused here, with a reason, and whatever options Node was started with.
    requireHostHeader: false,
    insecureHTTPParser: false,
  });
  const isTls = tls !== undefined;
  server.maxConnections = limits.maxConnections + SURPLUS_CONNECTIONS;
  // By itself Node drops the fields beyond a number, and whoever reads the rest is none the wiser.
  server.maxHeadersCount = 0;
  // A client that ends its side is still owed its answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.of(request.socket);
    const taken = connection.take(request, response);
    connections.onAsked(connection);
    if (taken === "ignore") return;
    beginSeen(context, request, response);
    const refusal = taken === "answer" ? refusedHead(request, limits) : taken;
    const go = (why?: HttpError) => {
      if (why === undefined && turnedAway(context, request, response)) return;
      context.counts.begin(request, response);
      void handle(context, request, response, why);
    };
    if (refusal === undefined) enter(context, door, request, response, go);
    else go(refusal);
  };
  server.on("request", answer);
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    // Whoever reads the body asks for it; a request that is refused before is not sent one.
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
    beginSeen(context, request, response);
    context.counts.begin(request, response);
    void handle(context, request, response, new HttpError(417, message, CLOSE));
  });
  const refuse = (socket: Socket, error: HttpError, code?: string) => {
    connections.onRefused(error);
    const isTold = connections.of(socket).refuse(error);
    if (isTold) context.counts.onRefused(socket, code, error.status);
  };
  server.on("connect", (_request: IncomingMessage, socket: Socket) => {
    refuse(socket, new HttpError(405, "expected GET, HEAD or POST, got CONNECT", ALLOWED));
  });
  server.on("clientError", (error: ParseError, socket: Socket) => {
    const isOver = !socket.writable || error.code === "ECONNRESET";
    // What is not encrypted yet cannot be answered.
    if (isOver || (isTls && !connections.has(socket))) socket.destroy();
    else refuse(socket, parseRefusal(error), error.code);
  });
  server.on("close", () => connections.close());
  return server;
}

/** @throws RuntimeError RUNTIME_LISTEN */
export function listen(server: Server, { host, port, flag }: Door): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const reason = error.code === "EADDRINUSE" ? "it is taken" : String(error.code ?? error);
      const message =
        `${host}:${port}: expected an address to serve at, got: ${reason}; ` +
        `choose another with ${flag}`;
      reject(new RuntimeError("RUNTIME_LISTEN", message));
    });
    server.listen({ port, host, backlog: BACKLOG }, () => resolve());
  });
}

export function urlOf(server: Server, { house: { access } }: HttpContext, { host }: Door): string {
  const address = server.address();
  if (address === null || typeof address === "string") return `unix:${address}`;
  const { port } = address;
  const scheme = access.tls === undefined ? "http" : "https";
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
