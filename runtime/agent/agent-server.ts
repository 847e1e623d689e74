/** HTTP server of an agent: limits, access control and shutdown. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Decision, OPEN_ACCESS } from "../server/access/access.ts";
import type { Need } from "../server/access/scopes.ts";
import { secureServer } from "../server/access/secure-server.ts";
import type { ServerLimits } from "../server/applications/limits.ts";
import { refusedHead } from "../server/connections/connection.ts";
import { SURPLUS_CONNECTIONS } from "../server/connections/connections.ts";
import { Handshakes } from "../server/connections/handshakes.ts";
import { HttpError, type ParseError, parseRefusal } from "../server/connections/http-error.ts";
import type { AgentState } from "./agent-state.ts";
import { handle, sendError } from "./routes.ts";

/** Returns the server, not listening yet. */
export function agentServer(state: AgentState, limits: ServerLimits): Server {
  const { access, connections } = state;
  const handshakes = new Handshakes(() => access.onHandshakeFailed());
  const secured = { tls: access.tls, connections, handshakes };
  const server = secureServer(secured, limits.headerTimeoutMs, {
    headersTimeout: limits.headerTimeoutMs,
    // Bodies have a limit of their own, whose error says what was missing.
    requestTimeout: 0,
    keepAliveTimeout: limits.idleTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, limits.headerTimeoutMs),
    maxHeaderSize: limits.maxHeaderBytes,
    requireHostHeader: false,
    insecureHTTPParser: false,
    // Sends the end of a batch without Nagle's delay.
    noDelay: true,
  });
  server.maxConnections = limits.maxConnections + SURPLUS_CONNECTIONS;
  server.maxHeadersCount = 0;
  // A client that closed its sending side still gets its answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.of(request.socket);
    const taken = connection.take(request, response);
    connections.onAsked(connection);
    if (taken === "ignore") return;
    const refusal = taken === "answer" ? refusedHead(request, limits) : taken;
    if (refusal === undefined) enter(state, request, response);
    else sendError(state, response, refusal);
  });
  server.on("clientError", (error: ParseError, socket: Socket) => {
    const isOver = !socket.writable || error.code === "ECONNRESET";
    if (isOver || !connections.has(socket)) socket.destroy();
    else {
      const refused = parseRefusal(error);
      connections.onRefused(refused);
      connections.of(socket).refuse(refused);
    }
  });
  server.on("connect", (_request: IncomingMessage, socket: Socket) => {
    connections.of(socket).refuse(new HttpError(405, "expected GET, HEAD or POST, got CONNECT"));
  });
  server.on("close", () => connections.close());
  return server;
}

/** Admits a request, at once unless its token takes time to check, or answers with an error. */
function enter(state: AgentState, request: IncomingMessage, response: ServerResponse): void {
  const go = (decision: Decision) => {
    if (decision instanceof HttpError) {
      sendError(state, response, decision);
      return;
    }
    if (decision !== OPEN_ACCESS) {
      response.once("close", decision.leave);
      if (response.destroyed) decision.leave();
    }
    void handle(state, request, response);
  };
  const { authorization } = request.headers;
  const { remoteAddress: address } = request.socket;
  const need = needOf(request.url ?? "/");
  const refusal = state.access.refusedPage(need, request);
  if (refusal !== undefined) {
    sendError(state, response, refusal);
    return;
  }
  const decision = state.access.admit({ need, authorization, address });
  if (decision instanceof Promise) void decision.then(go);
  else go(decision);
}

/** A client that may send batches may also list the models. */
function needOf(url: string): Need {
  if (url.startsWith("/v2/health/")) return "open";
  return url.startsWith("/metrics") ? "metrics" : "infer";
}
