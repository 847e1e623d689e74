/** How an HTTP server stops without a reset: what was sent to it is read and answered first. */
import type { Server } from "node:http";
import type { Connections } from "../connections/connections.ts";
import { stopAccepting } from "../connections/stop-accepting.ts";

/** How often it is looked which connections have become idle. */
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
 * Accepts what the kernel has accepted, answers what comes, and ends each connection with its last
 * answer.
 * @returns a promise that is kept when none is left.
 */
export async function stopServer(server: Server, connections: Connections): Promise<void> {
  const quietMs = connections.isBusy ? BUSY_QUIET_MS : QUIET_MS;
  const closed = new Promise<void>((resolve) => void server.once("close", resolve));
  await stopAccepting(server);
  // Not before: clients whose connections end make new ones.
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
  // Ends what it does at times; it has nothing to close any more.
  server.close();
}

/** Ends what is left, soon. @param stopped of `stopServer`. */
export async function forceServer(server: Server, stopped: Promise<void>): Promise<void> {
  const force = setTimeout(() => server.closeAllConnections(), LINGER_MS);
  await stopped;
  clearTimeout(force);
}
