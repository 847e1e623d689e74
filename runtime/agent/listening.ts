/** Starts listening at the address of an agent. */
import type { Server } from "node:http";
import { RuntimeError } from "../base/errors.ts";

interface ListenAddress {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly isTls: boolean;
}

/** Returns the URL. @throws RuntimeError RUNTIME_LISTEN */
export function listenAt(server: Server, { host, port, isTls }: ListenAddress): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === "EADDRINUSE" ? "the address is in use" : String(error.code ?? error);
      const expected = "expected an address to listen on";
      const message = `${host}:${port}: ${expected}, got: ${reason}; choose another with --http`;
      reject(new RuntimeError("RUNTIME_LISTEN", message));
    });
    server.listen({ host, port }, () => {
      const address = server.address();
      const bound = typeof address === "object" && address !== null ? address.port : port;
      const named = host.includes(":") ? `[${host}]` : host;
      resolve(`${isTls ? "https" : "http"}://${named}:${bound}`);
    });
  });
}
