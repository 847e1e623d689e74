/** Asks a server for its health all the while, and says how long the longest answer took. */
import { Connection } from "./connection.ts";

const EVERY_MS = 10;

export interface HealthWatch {
  /** Of one answer so far. */
  readonly longestMs: number;
  /** Answers other than 200, or none. */
  readonly failures: number;
  stop(): Promise<void>;
}

export function watchHealth(port: number): HealthWatch {
  const connection = new Connection(port);
  const watch = { longestMs: 0, failures: 0 };
  let isOver = false;
  const asking = (async () => {
    while (!isOver) {
      const startMs = performance.now();
      const reply = await connection.send(
        "/v2/health/live",
        { name: "health", headers: {}, body: Buffer.alloc(0) },
        "GET",
      );
      watch.longestMs = Math.max(watch.longestMs, performance.now() - startMs);
      if (reply?.status !== 200) watch.failures++;
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
    connection.close();
  })();
  return {
    get longestMs() {
      return watch.longestMs;
    },
    get failures() {
      return watch.failures;
    },
    async stop() {
      isOver = true;
      await asking;
    },
  };
}
