/** HTTP server, with TLS where a certificate is given. */
import { createServer, type Server, type ServerOptions } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import type { Connections } from "../connections/connections.ts";
import type { Handshakes } from "../connections/handshakes.ts";
import type { Access } from "./access.ts";
import { secureContextOf } from "./tls.ts";

interface Secured {
  /** Default: no encryption. */
  readonly tls: Access["tls"];
  readonly connections: Connections;
  readonly handshakes: Handshakes;
}

/** @param handshakeTimeoutMs time limit of a TLS handshake. */
export function secureServer(
  { tls, connections, handshakes }: Secured,
  handshakeTimeoutMs: number,
  options: ServerOptions,
): Server {
  const open = (socket: Socket) => void connections.open(socket);
  if (tls === undefined) return createServer(options).on("connection", open);
  const isMutual = tls.value.ca !== undefined;
  const server = createTlsServer({
    ...options,
    ...secureContextOf(tls.value),
    requestCert: isMutual,
    rejectUnauthorized: isMutual,
    handshakeTimeout: handshakeTimeoutMs,
  });
  // Open connections keep their session.
  tls.onChange((pair) => server.setSecureContext(secureContextOf(pair)));
  server.on("connection", (socket: Socket) => {
    if (!connections.cut(socket)) handshakes.begin(socket);
  });
  server.on("secureConnection", (socket: Socket) => {
    handshakes.onDone(socket);
    open(socket);
  });
  server.prependListener("tlsClientError", (_error: Error, socket: Socket) => {
    handshakes.onFailed(socket);
  });
  return server;
}
