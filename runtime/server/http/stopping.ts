/** Stops an HTTP server without resets: requests already sent are read and answered first. */
import type { Server } from "node:http";
import type { Connections } from "../connections/connections.ts";
import { stopAccepting } from "../connections/stop-accepting.ts";

/** Interval of the check for idle connections. */
const SWEEP_MS = 20;
/**
 * Idle connections are closed after this time without requests: under load clients use them once
 * more, and learn from the answer that it was the last.
 */
const QUIET_MS = 100;
const BUSY_QUIET_MS = 1000;
/** Time limit of pending answers once nothing else is waited for. */
const LINGER_MS = 1000;

/**
 * Accepts the connections in the backlog, answers open requests, and ends each connection with its
 * last answer.
 * @returns a promise that resolves when all are closed.
 */
export async function stopServer(server: Server, connections: Connections): Promise<void> {
  const quietMs = connections.isBusy ? BUSY_QUIET_MS : QUIET_MS;
  const closed = new Promise<void>((resolve) => void server.once("close", resolve));
  await stopAccepting(server);
  // Not earlier: clients whose connections end open new ones.
  connections.stop();
  let asked = connections.askedCount;
  let quietSinceMs = performance.now();
  const look = () => {
    const nowMs = performance.now();
    if (connections.askedCount !== asked) quietSinceMs = nowMs;
    asked = connections.askedCount;
    if (nowMs - quietSinceMs >= quietMs) connections.leaveIdle(server);
  };
  const sweep = setInterval(look, SWEEP_MS);
  await closed;
  clearInterval(sweep);
  // Ends Node's periodic checks; all connections are closed already.
  server.close();
}

/** Ends what is left, soon. @param stopped of `stopServer`. */
export async function forceServer(server: Server, stopped: Promise<void>): Promise<void> {
  const force = setTimeout(() => server.closeAllConnections(), LINGER_MS);
  await stopped;
  clearTimeout(force);
}
