/** Closes a listening socket after what the kernel has accepted for it. */
import { Server } from "node:net";

/**
 * A shorter turn of the event loop did nothing else, so the kernel was just asked for connections.
 * The limit grows with time, because a server at its capacity has no short turns.
 */
const SHORT_TURN_MS = 0.05;
const SHORT_TURN_GROWTH = 0.002;
const MAX_ACCEPTING_MS = 5000;

/**
 * Closes a listening socket without resetting the connections that wait in it. One turn of the
 * event loop accepts at least one of them, so the socket is closed after turns without a new
 * connection.
 */
export function stopAccepting(server: Server): Promise<void> {
  let hasCome = false;
  const onConnection = () => {
    hasCome = true;
  };
  server.on("connection", onConnection);
  const startMs = performance.now();
  let turnMs = startMs;
  return new Promise((resolve) => {
    const look = () => {
      const nowMs = performance.now();
      const shortMs = SHORT_TURN_MS + SHORT_TURN_GROWTH * (nowMs - startMs);
      const isEmpty = !hasCome && nowMs - turnMs < shortMs;
      if (isEmpty || nowMs - startMs > MAX_ACCEPTING_MS) {
        // That of HTTP would destroy idle connections.
        Server.prototype.close.call(server);
        server.off("connection", onConnection);
        resolve();
        return;
      }
      hasCome = false;
      turnMs = nowMs;
      setImmediate(look);
    };
    setImmediate(look);
  });
}
