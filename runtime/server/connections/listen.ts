/** Starts to listen, and outlives connections that the system cannot accept. */
import type { Server } from "node:net";
import { RuntimeError } from "../../base/errors.ts";
import type { Connections } from "./connections.ts";

/**
 * Requested backlog of connections to accept; the system may lower it. Clients retry lost
 * connections only after a second, so a burst needs a large backlog.
 */
const BACKLOG = 4096;

interface ListenPlace {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Name of the option with the address. */
  readonly flag: string;
}

/**
 * @param connections count those that cannot be accepted, for lack of descriptors or memory.
 * @returns the port. @throws RuntimeError RUNTIME_LISTEN
 */
export function listen(
  server: Server,
  { host, port, flag }: ListenPlace,
  connections: Pick<Connections, "onSurplus">,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = ({ code, message: text }: NodeJS.ErrnoException) => {
      const reason = code === "EADDRINUSE" ? "the address is in use" : (code ?? text);
      const message =
        `${host}:${port}: expected an address to listen on, got: ${reason}; ` +
        `choose another with ${flag}`;
      reject(new RuntimeError("RUNTIME_LISTEN", message));
    };
    server.once("error", onError);
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off("error", onError);
      server.on("error", () => connections.onSurplus("none"));
      const bound = server.address();
      resolve(typeof bound === "object" && bound !== null ? bound.port : port);
    });
  });
}

/** Base URL of a server that listens. */
export function urlOf(server: Server, isTls: boolean, { host }: Pick<ListenPlace, "host">): string {
  const address = server.address();
  if (address === null || typeof address === "string") return `unix:${address}`;
  const scheme = isTls ? "https" : "http";
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${address.port}`;
}
