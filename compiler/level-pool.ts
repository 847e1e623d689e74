/** Threads that answer level requests. One thread handles a level whole, so the results do not depend on how many there are. */
import { Worker } from "node:worker_threads";
import type { Bundle, Level } from "../runtime/bundle/schema.ts";
import type { LevelReply, LevelRequest } from "./level-worker.ts";
import type { BundleFrame } from "./solvers/solver.ts";

export interface LevelPoolOptions {
  /** Most threads at a time, at least 1. */
  readonly jobs: number;
  /** Called after each request. @param stage what the work is at, where there are several stages. */
  readonly onProgress: (done: number, total: number, stage?: string) => void;
  /** Aborting terminates the threads and rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

/** Threads for one frame, started when they are needed and kept between runs: a warm thread solves faster. Close them. */
export class LevelThreads {
  readonly #frame: BundleFrame;
  readonly #options: LevelPoolOptions;
  readonly #workers: Worker[] = [];
  readonly #onAbort = (): void => this.#fail(this.#options.signal.reason);
  /** Never resolves; rejects once a thread has failed or the work is aborted. */
  readonly #failure: Promise<never>;
  #fail: (reason: unknown) => void = () => {};
  #done = 0;
  #total = 0;

  constructor(frame: BundleFrame, options: LevelPoolOptions) {
    this.#frame = frame;
    this.#options = options;
    this.#failure = new Promise((_, reject) => {
      this.#fail = reject;
    });
    // A run in progress sees the failure; between runs there is nobody to tell.
    this.#failure.catch(() => {});
    options.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** @returns the replies in the order of the requests. One run at a time. @throws the signal's reason once it is aborted. */
  async run(requests: readonly LevelRequest[], stage?: string): Promise<LevelReply[]> {
    this.#options.signal.throwIfAborted();
    const { jobs, onProgress } = this.#options;
    while (this.#workers.length < Math.min(jobs, requests.length)) this.#start();
    this.#total += requests.length;
    const replies: LevelReply[] = [];
    let next = 0;
    const drain = (worker: Worker): Promise<void> =>
      new Promise((resolve) => {
        let current = 0;
        const sendNext = (): void => {
          const request = requests[next];
          current = next++;
          if (request !== undefined) {
            worker.postMessage(request);
            return;
          }
          worker.off("message", onMessage);
          resolve();
        };
        const onMessage = (reply: LevelReply): void => {
          replies[current] = reply;
          onProgress(++this.#done, this.#total, stage);
          sendNext();
        };
        worker.on("message", onMessage);
        sendNext();
      });
    await Promise.race([Promise.all(this.#workers.map(drain)), this.#failure]);
    return replies;
  }

  /** Ends the threads, whatever they are at. */
  async close(): Promise<void> {
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  #start(): void {
    const url = new URL("./level-worker.js", import.meta.url);
    const worker = new Worker(url, { workerData: this.#frame });
    worker.on("error", (error) => this.#fail(error));
    worker.on("exit", (code) => this.#fail(new Error(`a solver thread ended with code ${code}`)));
    this.#workers.push(worker);
  }
}

/** Answers requests in threads of their own. @returns the replies in the order of the requests. */
export async function runInThreads(
  frame: BundleFrame,
  requests: readonly LevelRequest[],
  options: LevelPoolOptions,
): Promise<LevelReply[]> {
  const threads = new LevelThreads(frame, options);
  try {
    return await threads.run(requests);
  } finally {
    await threads.close();
  }
}

/** Solves one more level of a bundle, in a thread. @throws whatever the solver does; the signal's reason once it is aborted. */
export async function solveLevelOf(
  { levels: _, provenance: __, ...frame }: Bundle,
  loadQps: number,
  signal: AbortSignal,
): Promise<Level> {
  const options = { jobs: 1, onProgress: () => {}, signal };
  const [reply] = await runInThreads(frame, [{ kind: "solve", loadQps }], options);
  if (reply?.kind !== "solved") throw new TypeError("a request to solve is answered by a level");
  return reply.level;
}
