/** Closes a listening socket after what the kernel has accepted for it. */
import { Server } from "node:net";

/**
 * A turn of the event loop as short as this did nothing else, so the kernel was asked for
 * connections just now. What is short grows by so much a ms, for a server at its limit has none.
 */
const SHORT_TURN_MS = 0.05;
const SHORT_TURN_GROWTH = 0.002;
const MAX_ACCEPTING_MS = 5000;

/**
 * To close a listening socket resets the connections that wait in it. One turn of the loop accepts
 * at least one of them, so it is closed after turns that brought none.
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
