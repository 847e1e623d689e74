/** An address of several processes: bound here, and accepted from by whoever gets it. */
import { lookup } from "node:dns/promises";
import * as net from "node:net";
import { getSystemErrorName } from "node:util";
import { RuntimeError } from "../../errors.ts";

/** What Node keeps a socket in; it can be sent to another process. */
export type SharedHandle = net.Server;

export interface SharedPort {
  readonly handle: SharedHandle;
  readonly port: number;
  /** Others that have it go on. */
  close(): void;
}

interface Handle {
  getsockname(into: { port?: number }): number;
  close(): void;
}

/**
 * Node has no way to bind and not to accept but that by which its cluster module does it: whoever
 * listens takes connections in, and this process is not to.
 */
const bind = (net as unknown as Record<string, unknown>)["_createServerHandle"] as (
  address: string,
  port: number,
  family: number,
  fd: number,
  flags: number,
) => Handle | number;

/** @param port 0 for any that is free. @throws RuntimeError RUNTIME_LISTEN */
export async function openSharedPort(host: string, port: number): Promise<SharedPort> {
  const { address, family } = await lookup(host).catch((error: NodeJS.ErrnoException) => {
    throw refusal(host, port, error.code ?? String(error));
  });
  const handle = bind(address, port, family, -1, 0);
  if (typeof handle === "number") throw refusal(host, port, reasonOf(handle));
  const bound: { port?: number } = {};
  // That the address is taken is said only now.
  const fault = handle.getsockname(bound);
  if (fault !== 0 || bound.port === undefined) {
    handle.close();
    throw refusal(host, port, fault === 0 ? "no port" : reasonOf(fault));
  }
  return {
    handle: handle as unknown as SharedHandle,
    port: bound.port,
    close: () => handle.close(),
  };
}

function reasonOf(code: number): string {
  const name = getSystemErrorName(code);
  return name === "EADDRINUSE" ? "it is taken" : name;
}

function refusal(host: string, port: number, reason: string): RuntimeError {
  const message =
    `${host}:${port}: expected an address to serve at, got: ${reason}; ` +
    "choose another with --http";
  return new RuntimeError("RUNTIME_LISTEN", message);
}
