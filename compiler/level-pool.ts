/** Solves load levels in parallel threads. Each level is solved whole by one thread, so the result does not depend on how many there are. */
import { Worker } from "node:worker_threads";
import type { SolvedLevel, SolveLevels } from "./compile.ts";
import type { LevelRequest } from "./level-worker.ts";

export interface LevelPoolOptions {
  /** Most threads at a time, at least 1. */
  readonly jobs: number;
  /** Called after each level. */
  readonly onProgress: (done: number, total: number) => void;
  /** Aborting terminates the threads and rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

type LevelReply = SolvedLevel & Pick<LevelRequest, "index">;

export function solveLevelsInThreads({ jobs, onProgress, signal }: LevelPoolOptions): SolveLevels {
  return async (frame, loadsQps) => {
    signal.throwIfAborted();
    const solved: SolvedLevel[] = [];
    let next = 0;
    let done = 0;
    const workers = Array.from(
      { length: Math.min(jobs, loadsQps.length) },
      () => new Worker(new URL("./level-worker.js", import.meta.url), { workerData: frame }),
    );
    const runWorker = (worker: Worker): Promise<void> =>
      new Promise((resolve, reject) => {
        const sendNext = (): void => {
          const loadQps = loadsQps[next];
          if (loadQps === undefined) resolve();
          else worker.postMessage({ index: next++, loadQps } satisfies LevelRequest);
        };
        worker.on("message", ({ index, level, ms }: LevelReply) => {
          solved[index] = { level, ms };
          onProgress(++done, loadsQps.length);
          sendNext();
        });
        worker.on("error", reject);
        worker.on("exit", (code) => reject(new Error(`a solver thread ended with code ${code}`)));
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        sendNext();
      });
    try {
      await Promise.all(workers.map(runWorker));
    } finally {
      await Promise.all(workers.map((worker) => worker.terminate()));
    }
    return solved;
  };
}
