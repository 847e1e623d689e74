/**
 * Worker processes that answer level requests. One process handles a level whole, so results do not
 * depend on the number of processes.
 * Uses processes, not threads: Node 20 sometimes aborts when a thread ends while V8 compiles its
 * code in the background (`NodePlatform::ForIsolate`, "data.first != nullptr"), which would take
 * down a server that solves a level online.
 */
import { type ChildProcess, fork } from "node:child_process";
import { constants, setPriority } from "node:os";
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
/** Signals of Node with a full heap, and of the system's out-of-memory killer. */
const OUT_OF_MEMORY: readonly string[] = ["SIGABRT", "SIGTRAP", "SIGILL", "SIGKILL"];
const ABORTED_CODE = 134;

/** Thrown if a level took more memory than available. */
export class SolverMemoryError extends Error {
  constructor(ended: string) {
    super(
      `${ENDED} with ${ended}, probably out of memory; use fewer states, with a smaller ` +
        "policy.maxQueue or coarser steps, or solve fewer levels in parallel with --jobs",
    );
    this.name = "SolverMemoryError";
  }
}

export interface LevelPoolOptions {
  /** Most concurrent processes, at least 1. */
  readonly jobs: number;
  /**
   * Called after each request.
   * @param stage name of the current stage, if there are several.
   */
  readonly onProgress: (done: number, total: number, stage?: string) => void;
  /** Aborting ends the processes and rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Called when the first process starts, and when the last has ended. */
  readonly onBusy?: (isBusy: boolean) => void;
  /** Whether they take only the processor time that a server leaves them; default: false. */
  readonly isInBackground?: boolean;
}

/**
 * Worker processes for one frame, started on demand and kept between runs, since warm ones solve
 * faster. Must be closed.
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
    // A current run handles the failure; between runs it has no handler.
    this.#failure.catch(() => {});
    options.signal.addEventListener("abort", this.#onAbort, { once: true });
    options.onBusy?.(true);
  }

  /**
   * @param onReply called with each reply when it arrives.
   * @param onBranch called with each branch searched for a request.
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
    // The system has refused a process: the reason arrives as an event.
    if (this.#workers.some(({ pid }) => pid === undefined)) await this.#failure;
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

  /** Ends the workers, even during requests. */
  async close(): Promise<void> {
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    await Promise.all(this.#workers.map(ended));
    this.#options.onBusy?.(false);
  }

  /** A bundle is sent to a worker once: it is large, and many requests refer to it. */
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
    // Workers must not print to stdout, which is for results.
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
    if (worker.pid !== undefined) {
      // Before it has threads, which begin with its priority.
      if (this.#options.isInBackground) setPriority(worker.pid, constants.priority.PRIORITY_LOW);
      worker.send(this.#frame);
    }
    this.#workers.push(worker);
  }
}

function ended(worker: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    const { pid, exitCode, signalCode } = worker;
    if (pid === undefined || exitCode !== null || signalCode !== null) {
      resolve();
      return;
    }
    worker.once("exit", () => resolve());
    worker.once("error", () => resolve());
    worker.kill("SIGKILL");
  });
}

/**
 * Answers requests in temporary worker processes. @typeParam L level of the frame's method.
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
 * Solves a level in a separate process. @throws as the solver; the signal's reason once it is
 * aborted.
 */
export async function solveInProcess<L extends Level>(
  frame: BundleFrame,
  loadQps: number,
  signal: AbortSignal,
): Promise<L> {
  const options = { jobs: 1, onProgress: () => {}, signal, isInBackground: true };
  const [reply] = await runInWorkers<L>(frame, [{ kind: "solve", loadQps }], options);
  if (reply?.kind !== "solved") throw new TypeError("expected a level in reply to a solve request");
  return reply.level;
}

/** Solves an additional level of a bundle that accepts levels in service. */
export function solveLevelOf(
  { levels: _, paceLevels: __, provenance: ___, ...frame }: RamsisBundle,
  loadQps: number,
  signal: AbortSignal,
): Promise<RamsisLevel> {
  return solveInProcess<RamsisLevel>(frame, loadQps, signal);
}
