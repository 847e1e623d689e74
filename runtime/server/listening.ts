/**
 * The HTTP server below the routes: its limits, its address, what it answers where there is no
 * request, and its end.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { RuntimeError } from "../errors.ts";
import type { HttpContext } from "./context.ts";
import { handle } from "./http.ts";
import { turnedAway } from "./infer.ts";
import type { RequestCounts } from "./request-counts.ts";

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

export interface ConnectionLimits {
  readonly maxConnections: number;
  readonly headerTimeoutMs: number;
  /** How long a connection may stay open between requests. */
  readonly idleTimeoutMs: number;
}

export function serverOf(context: HttpContext, limits: ConnectionLimits): Server {
  const server = createServer(
    {
      headersTimeout: limits.headerTimeoutMs,
      // Bodies have a limit of their own, whose answer says what was missing.
      requestTimeout: 0,
      keepAliveTimeout: limits.idleTimeoutMs,
      connectionsCheckingInterval: Math.min(1000, limits.headerTimeoutMs),
    },
    (request, response) => {
      if (turnedAway(context, request, response)) return;
      context.counts.begin(request, response);
      void handle(context, request, response);
    },
  );
  server.maxConnections = limits.maxConnections;
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    refuse(error, socket as Socket, context.counts);
  });
  return server;
}

/** Answers what the HTTP parser refused, in which case there is no request to answer. */
function refuse(error: NodeJS.ErrnoException, socket: Socket, counts: RequestCounts): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const [status, message] =
    error.code === "ERR_HTTP_REQUEST_TIMEOUT"
      ? ["408 Request Timeout", "the header of the request took too long"]
      : error.code === "HPE_HEADER_OVERFLOW"
        ? ["431 Request Header Fields Too Large", "the header of the request is too large"]
        : ["400 Bad Request", `expected an HTTP request (${error.message})`];
  counts.onRefused(socket, error, Number(status.slice(0, 3)));
  const body = JSON.stringify({ error: message });
  const head =
    `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: ` +
    `application/json\r\ncontent-length: ${Buffer.byteLength(body)}`;
  socket.end(`${head}\r\n\r\n${body}`, () => socket.destroy());
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
