/** Runs level requests in parallel threads. One thread handles a level whole, so the results do not depend on how many there are. */
import { Worker } from "node:worker_threads";
import type { LevelReply, LevelRequest } from "./level-worker.ts";
import type { BundleFrame } from "./solvers/solver.ts";

export interface LevelPoolOptions {
  /** Most threads at a time, at least 1. */
  readonly jobs: number;
  /** Called after each request. */
  readonly onProgress: (done: number, total: number) => void;
  /** Aborting terminates the threads and rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

/** @returns the replies in the order of the requests. */
export async function runInThreads(
  frame: BundleFrame,
  requests: readonly LevelRequest[],
  { jobs, onProgress, signal }: LevelPoolOptions,
): Promise<LevelReply[]> {
  signal.throwIfAborted();
  const replies: LevelReply[] = [];
  let next = 0;
  let done = 0;
  const workers = Array.from(
    { length: Math.min(jobs, requests.length) },
    () => new Worker(new URL("./level-worker.js", import.meta.url), { workerData: frame }),
  );
  const drain = (worker: Worker): Promise<void> =>
    new Promise((resolve, reject) => {
      let current = 0;
      const sendNext = (): void => {
        const request = requests[next];
        current = next++;
        if (request === undefined) resolve();
        else worker.postMessage(request);
      };
      worker.on("message", (reply: LevelReply) => {
        replies[current] = reply;
        onProgress(++done, requests.length);
        sendNext();
      });
      worker.on("error", reject);
      worker.on("exit", (code) => reject(new Error(`a solver thread ended with code ${code}`)));
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      sendNext();
    });
  try {
    await Promise.all(workers.map(drain));
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
  return replies;
}
