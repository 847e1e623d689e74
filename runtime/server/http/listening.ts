/**
 * The HTTP server below the routes: its limits, its address, what it answers where there is no
 * request, and its end.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { RuntimeError } from "../../errors.ts";
import type { ServerLimits } from "../applications/limits.ts";
import { SURPLUS_CONNECTIONS } from "../connections/connections.ts";
import { CLOSE, HttpError } from "../connections/http-error.ts";
import { type ParseError, parseRefusal } from "../connections/parse-refusal.ts";
import { refusedHead } from "../connections/request-head.ts";
import type { HttpContext } from "./context.ts";
import { handle } from "./http.ts";
import { turnedAway } from "./infer.ts";
import { beginSeen } from "./seen.ts";

/**
 * Connections that wait to be accepted; the system caps it. Beyond it they are lost and tried again
 * a second later, so a burst needs room.
 */
const BACKLOG = 4096;
/**
 * While the server closes: how often idle connections are ended, and how long answers may still be
 * on their way.
 */
const SWEEP_MS = 20;
const LINGER_MS = 1000;

/** Methods of the routes, for a request that names none of them. */
const ALLOWED = { allow: "GET, HEAD, POST" };

export function serverOf(context: HttpContext, limits: ServerLimits): Server {
  const { connections } = context;
  const server = createServer({
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
    if (refusal === undefined && turnedAway(context, request, response)) return;
    context.counts.begin(request, response);
    void handle(context, request, response, refusal);
  };
  server.on("connection", (socket: Socket) => void connections.open(socket));
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
    if (!socket.writable || error.code === "ECONNRESET") socket.destroy();
    else refuse(socket, parseRefusal(error), error.code);
  });
  server.on("close", () => connections.close());
  return server;
}

/** @throws RuntimeError RUNTIME_LISTEN */
export function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const reason = error.code === "EADDRINUSE" ? "it is taken" : String(error.code ?? error);
      const message =
        `${host}:${port}: expected an address to serve at, got: ${reason}; ` +
        "choose another with --http";
      reject(new RuntimeError("RUNTIME_LISTEN", message));
    });
    server.listen({ port, host, backlog: BACKLOG }, () => resolve());
  });
}

/**
 * Idle connections end at once, one that is sending its last answer soon after it, and what is left
 * after a while.
 */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
    const force = setTimeout(() => server.closeAllConnections(), LINGER_MS);
    server.close(() => {
      clearInterval(sweep);
      clearTimeout(force);
      resolve();
    });
    server.closeIdleConnections();
  });
}

export function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
