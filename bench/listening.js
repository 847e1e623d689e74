// Servers of the live benches tell JSON lines: where they listen, and what happens.
import { createInterface } from "node:readline";

/**
 * Waits until a server listens.
 * @param {import("node:child_process").ChildProcess} server
 * @param {(told: object) => void} onTold for whatever else it tells, from the first line to the last.
 * @returns {Promise<{ url: string, originMs?: number }>} what it tells of itself then.
 */
export function listening(server, onTold) {
  const lines = createInterface({ input: server.stdout });
  return new Promise((resolve, reject) => {
    lines.on("line", (line) => {
      const told = JSON.parse(line);
      if (told.url === undefined) onTold(told);
      else resolve(told);
    });
    server.once("exit", () => reject(new Error("the server ended before it listened")));
  });
}
