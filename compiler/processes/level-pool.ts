/**
 * Processes that answer level requests. One handles a level whole, so the results do not depend on
 * how many there are.
 *
 * Processes and not threads: Node 20 aborts now and then when a thread ends while V8 still compiles
 * its code in the background (`NodePlatform::ForIsolate`, "data.first != nullptr"), and it would
 * take the server down that makes a level on line.
 */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type {
  Bundle,
  Level,
  RamsisBundle,
  RamsisLevel,
} from "stratagem-runtime/internal/bundle/schema";
import type { BundleFrame } from "../model/frames.ts";
import type { FoundBranch } from "../model/root-branches.ts";
import type {
  BranchNote,
  HeldBundle,
  LevelFailure,
  LevelReply,
  LevelRequest,
} from "./level-request.ts";

const ENDED = "a solver process ended";
/** How Node ends when its heap is full, and how the system ends whoever takes too much. */
const OUT_OF_MEMORY: readonly string[] = ["SIGABRT", "SIGTRAP", "SIGILL", "SIGKILL"];
const ABORTED_CODE = 134;

/** A level took more memory than there is. */
export class SolverMemoryError extends Error {
  constructor(ended: string) {
    super(
      `${ENDED} with ${ended}, as where memory runs out; allowed: fewer states, with a smaller ` +
        "policy.maxQueue or coarser steps, or fewer levels at a time with --jobs",
    );
    this.name = "SolverMemoryError";
  }
}

export interface LevelPoolOptions {
  /** Most processes at a time, at least 1. */
  readonly jobs: number;
  /**
   * Called after each request.
   * @param stage what the work is at, where there are several stages.
   */
  readonly onProgress: (done: number, total: number, stage?: string) => void;
  /** Aborting ends the processes and rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Told when there are processes that aborting would end, and when there are none any more. */
  readonly onBusy?: (isBusy: boolean) => void;
}

/**
 * Workers for one frame, started when they are needed and kept between runs: a warm one solves
 * faster. Close them.
 */
export class LevelWorkers<L extends Level = Level> {
  readonly #frame: BundleFrame;
  readonly #options: LevelPoolOptions;
  readonly #workers: ChildProcess[] = [];
  /** Bundle that each worker has. */
  readonly #bundles = new Map<ChildProcess, Bundle>();
  readonly #onAbort = (): void => this.#fail(this.#options.signal.reason);
  /** Never resolves; rejects once a worker has failed or the work is aborted. */
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
    options.onBusy?.(true);
  }

  /**
   * @param onReply told of each reply once it is there.
   * @param onBranch told of each branch that is searched for a request.
   * @returns the replies in the order of the requests. One run at a time.
   * @throws the signal's reason once it is aborted.
   */
  async run(
    requests: readonly LevelRequest[],
    stage?: string,
    onReply?: (reply: LevelReply<L>) => void,
    onBranch?: (request: LevelRequest, branch: FoundBranch) => void,
  ): Promise<LevelReply<L>[]> {
    this.#options.signal.throwIfAborted();
    const { jobs, onProgress } = this.#options;
    while (this.#workers.length < Math.min(jobs, requests.length)) this.#start();
    this.#total += requests.length;
    const replies: LevelReply<L>[] = [];
    let next = 0;
    const drain = (worker: ChildProcess): Promise<void> =>
      new Promise((resolve) => {
        let current = 0;
        const sendNext = (): void => {
          const request = requests[next];
          current = next++;
          if (request !== undefined) {
            this.#send(worker, request);
            return;
          }
          worker.off("message", onMessage);
          resolve();
        };
        const onMessage = (reply: LevelReply<L> | LevelFailure | BranchNote): void => {
          if (reply.kind === "branch") {
            const request = requests[current];
            if (request !== undefined) onBranch?.(request, reply.branch);
            return;
          }
          if (reply.kind === "failed") {
            this.#fail(new Error(reply.stack));
            return;
          }
          replies[current] = reply;
          onReply?.(reply);
          onProgress(++this.#done, this.#total, stage);
          sendNext();
        };
        worker.on("message", onMessage);
        sendNext();
      });
    await Promise.race([Promise.all(this.#workers.map(drain)), this.#failure]);
    return replies;
  }

  /** Ends the workers, whatever they are at. */
  async close(): Promise<void> {
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    await Promise.all(this.#workers.map(ended));
    this.#options.onBusy?.(false);
  }

  /** A bundle is sent once: it is long, and many requests are about the same one. */
  #send(worker: ChildProcess, request: LevelRequest): void {
    if ("bundle" in request) {
      const { bundle, ...asked } = request;
      const held: HeldBundle = { kind: "bundle", bundle };
      if (this.#bundles.get(worker) !== bundle) worker.send(held);
      this.#bundles.set(worker, bundle);
      worker.send(asked);
    } else worker.send(request);
  }

  #start(): void {
    const path = fileURLToPath(new URL("../levels/level-worker.js", import.meta.url));
    // Nothing that a worker prints is output of ours.
    const worker = fork(path, [], {
      serialization: "advanced",
      stdio: ["ignore", 2, 2, "ipc"],
      execArgv: [],
    });
    worker.on("error", (error) => this.#fail(error));
    worker.on("exit", (code, signal) => {
      const ended = signal ?? `code ${code}`;
      const isOfMemory = code === ABORTED_CODE || OUT_OF_MEMORY.includes(signal ?? "");
      this.#fail(isOfMemory ? new SolverMemoryError(ended) : new Error(`${ENDED} with ${ended}`));
    });
    worker.send(this.#frame);
    this.#workers.push(worker);
  }
}

function ended(worker: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (worker.exitCode !== null || worker.signalCode !== null) resolve();
    worker.once("exit", () => resolve());
    worker.once("error", () => resolve());
    worker.kill("SIGKILL");
  });
}

/**
 * Answers requests in processes of their own. @typeParam L level of the frame's method.
 * @returns the replies in the order of the requests.
 */
export async function runInWorkers<L extends Level>(
  frame: BundleFrame,
  requests: readonly LevelRequest[],
  options: LevelPoolOptions,
): Promise<LevelReply<L>[]> {
  const workers = new LevelWorkers<L>(frame, options);
  try {
    return await workers.run(requests);
  } finally {
    await workers.close();
  }
}

/**
 * Solves a level in a process of its own. @throws whatever the solver does; the signal's reason
 * once it is aborted.
 */
export async function solveInProcess<L extends Level>(
  frame: BundleFrame,
  loadQps: number,
  signal: AbortSignal,
): Promise<L> {
  const options = { jobs: 1, onProgress: () => {}, signal };
  const [reply] = await runInWorkers<L>(frame, [{ kind: "solve", loadQps }], options);
  if (reply?.kind !== "solved") throw new TypeError("a request to solve is answered by a level");
  return reply.level;
}

/** Solves one more level of a bundle that takes levels while it is served. */
export function solveLevelOf(
  { levels: _, paceLevels: __, provenance: ___, ...frame }: RamsisBundle,
  loadQps: number,
  signal: AbortSignal,
): Promise<RamsisLevel> {
  return solveInProcess<RamsisLevel>(frame, loadQps, signal);
}
